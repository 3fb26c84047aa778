/* The commands, one per file; table.c puts them in order. */

#ifndef CLI_COMMAND_COMMANDS_H
#define CLI_COMMAND_COMMANDS_H

#include "cli/command/command.h"

extern const struct cli_command cli_command_bench;
extern const struct cli_command cli_command_bench_codec;
extern const struct cli_command cli_command_bench_net;
extern const struct cli_command cli_command_bench_plan;
extern const struct cli_command cli_command_bench_push;
extern const struct cli_command cli_command_bench_rows;
extern const struct cli_command cli_command_bench_sim;
extern const struct cli_command cli_command_bench_tree;
extern const struct cli_command cli_command_cert;
extern const struct cli_command cli_command_cert_init;
extern const struct cli_command cli_command_cert_issue;
extern const struct cli_command cli_command_cert_join;
extern const struct cli_command cli_command_cert_list;
extern const struct cli_command cli_command_cert_revoke;
extern const struct cli_command cli_command_cert_serve;
extern const struct cli_command cli_command_cert_show;
extern const struct cli_command cli_command_cert_token;
extern const struct cli_command cli_command_codec;
extern const struct cli_command cli_command_codec_ls;
extern const struct cli_command cli_command_codec_try;
extern const struct cli_command cli_command_compare;
extern const struct cli_command cli_command_completion;
extern const struct cli_command cli_command_doctor;
extern const struct cli_command cli_command_help;
extern const struct cli_command cli_command_lab;
extern const struct cli_command cli_command_lab_down;
extern const struct cli_command cli_command_lab_enter;
extern const struct cli_command cli_command_lab_exec;
extern const struct cli_command cli_command_lab_fill;
extern const struct cli_command cli_command_lab_keep;
extern const struct cli_command cli_command_lab_set;
extern const struct cli_command cli_command_lab_show;
extern const struct cli_command cli_command_lab_up;
extern const struct cli_command cli_command_hold;
extern const struct cli_command cli_command_man;
extern const struct cli_command cli_command_plan;
extern const struct cli_command cli_command_plan_diff;
extern const struct cli_command cli_command_plan_links;
extern const struct cli_command cli_command_plan_paper;
extern const struct cli_command cli_command_plan_place;
extern const struct cli_command cli_command_plan_tree;
extern const struct cli_command cli_command_proxy;
extern const struct cli_command cli_command_report;
extern const struct cli_command cli_command_run;
extern const struct cli_command cli_command_server;
extern const struct cli_command cli_command_sim;
extern const struct cli_command cli_command_store;
extern const struct cli_command cli_command_store_cat;
extern const struct cli_command cli_command_store_export;
extern const struct cli_command cli_command_store_ls;
extern const struct cli_command cli_command_table;
extern const struct cli_command cli_command_table_drop;
extern const struct cli_command cli_command_tied;
extern const struct cli_command cli_command_top;
extern const struct cli_command cli_command_version;
extern const struct cli_command cli_command_why;
extern const struct cli_command cli_command_worker;

#endif
