#include "cli/command/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const struct cli_error cli_errors[] = {
    {CLI_ERROR_UNKNOWN_COMMAND, CLI_USAGE, "unknown command", "Strait has no command of that name.",
     "Run \"strait\" for the list of commands. Names cannot be abbreviated, so that scripts keep "
     "working when commands are added."},
    {CLI_ERROR_UNKNOWN_OPTION, CLI_USAGE, "unknown option",
     "The command does not take that option.",
     "Run the command with --help to see its options. To pass a word that starts with a dash as an "
     "argument, write -- before it."},
    {CLI_ERROR_BAD_VALUE, CLI_USAGE, "value that is missing or cannot be used",
     "An option or argument has no value, or one of the wrong kind or outside its limits.",
     "Sizes are bytes or carry a unit: 64KiB is 65536, 64kB is 64000. Rates are bits per second: "
     "2.5Gbit. Durations are seconds or carry a unit: 250ms, 15m, 30d. The command's --help says "
     "what each option wants."},
    {CLI_ERROR_MISSING_ARGUMENT, CLI_USAGE, "missing argument",
     "The command needs an argument or option that was not given.",
     "Run the command with --help: arguments in brackets may be left out, the others not."},
    {CLI_ERROR_EXTRA_ARGUMENT, CLI_USAGE, "too many arguments",
     "More arguments were given than the command takes.",
     "Put arguments that hold spaces in quotes. Run the command with --help to see what it takes."},
    {CLI_ERROR_MISSING_COMMAND, CLI_USAGE, "missing subcommand",
     "That word is the name of a group of commands, not of one.",
     "Add one of the subcommands that the message lists."},
    {CLI_ERROR_UNKNOWN_TOPIC, CLI_USAGE, "no help on that",
     "Help is there for commands and for error ids.",
     "Try \"strait help\" for the commands. An error id looks like STRAIT-0007 and stands in "
     "brackets at the beginning of an error message."},
    {CLI_ERROR_BAD_LOG_FILTER, CLI_USAGE, "log filter that cannot be read",
     "--log, or the environment variable STRAIT_LOG, holds something that is not a log filter.",
     "A filter is a level (off, error, warn, info, debug, trace), a subsystem with a level "
     "(net=debug), or several of these separated by commas: info,net=debug."},
    {CLI_ERROR_INSECURE, CLI_USAGE, "plain connection that was not asked for",
     "Without TLS anybody on the way can read and change what is sent, and pretend to be anybody. "
     "Strait does that only if it is told so: --insecure for addresses of this machine, "
     "--insecure --insecure for others.",
     "Use tls:// and certificates (\"strait cert\"). Where the network itself is trusted, repeat "
     "--insecure."},
    {CLI_ERROR_SETTINGS, CLI_USAGE, "settings that do not go together",
     "Each of the options is fine, but not with the others, or one that they need is missing; the "
     "message says which.",
     "Run the command with --help: options that belong together name each other."},
    {CLI_ERROR_FILE, CLI_FAILED, "file that cannot be read or written",
     "The system refused to read or write the file that the message names; its reason stands at "
     "the "
     "end.",
     "Check that the path is right, that you may read or write there, and that the disk is not "
     "full."},
    {CLI_ERROR_EXISTS, CLI_FAILED, "file that is there already",
     "Strait does not overwrite keys, certificates, authorities and tokens.",
     "Choose another folder or name. Where the command has an option --replace, that overwrites."},
    {CLI_ERROR_STDOUT, CLI_FAILED, "standard output cannot be written",
     "The results could not be delivered: the reader of a pipe went away, or the disk is full. "
     "What "
     "was printed before may be incomplete.",
     "Check the disk, or the program that reads from the pipe, and run the command again."},
    {CLI_ERROR_NO_AUTHORITY, CLI_BAD_CONFIGURATION, "no certificate authority in that folder",
     "The folder does not hold an authority: ca.crt, ca.key and its records.",
     "Make one with \"strait cert init DIR\", or name the folder in which you made it."},
    {CLI_ERROR_BAD_CERT, CLI_BAD_CONFIGURATION, "certificate, key or record that cannot be used",
     "A file of the authority or of a member is damaged, is not what its name says, or does not "
     "belong to the others.",
     "\"strait cert show FILE\" tells what a certificate says. Issue a new one with \"strait cert "
     "issue\", or bring the folder of the authority back from a copy."},
    {CLI_ERROR_BAD_IDENTITY, CLI_USAGE, "identity that cannot be used",
     "An identity is ROLE/SITE/NAME. The role is worker, server, relay or operator. Site and name "
     "have 1 to 64 letters, digits, dots, dashes or underscores.",
     "For example: server/eu/s1. For a token the name may be *, in quotes, so that the shell "
     "leaves "
     "it alone: 'worker/eu/*'."},
    {CLI_ERROR_NOT_ON_RECORD, CLI_FAILED, "certificate that is not on record",
     "The authority has no record of such a certificate.",
     "\"strait cert list DIR --all\" shows all of them. A certificate that you have as a file can "
     "be "
     "revoked by that file, recorded or not."},
    {CLI_ERROR_CERT_REFUSED, CLI_REFUSED, "key or certificate that is refused",
     "A private key can be read by others than its owner, or a certificate comes from another "
     "authority, or its key is of a kind that Strait does not use (it uses Ed25519 only).",
     "If the message names permissions, run chmod 600 on the key and ask yourself who may have "
     "read "
     "it. Otherwise use a certificate of this authority."},
    {CLI_ERROR_BAD_TOKEN, CLI_BAD_CONFIGURATION, "token that cannot be read",
     "What was given is not a token. A token begins with strait1. and stands on one line; perhaps "
     "a part of it was lost in copying, or the file is empty.",
     "Copy all of it, or make a new one with \"strait cert token\" where the authority is."},
    {CLI_ERROR_NO_CHECKPOINT, CLI_FAILED, "no checkpoint there",
     "The folder holds no whole checkpoint of the site, shard or number that was asked for. Each "
     "server writes the shards of its own lanes: if they have folders of their own, one folder "
     "holds only a part.",
     "\"strait store ls --store DIR\" shows what is there and what is damaged. A server writes "
     "checkpoints if it has a --store: every --checkpoint-every clocks, and when it is stopped."},
    {CLI_ERROR_DAMAGED, CLI_FAILED, "checkpoint that cannot be used",
     "The file is torn, was changed, or does not hold what its head says, or another version of "
     "Strait wrote it. The message names the first thing that is wrong.",
     "Put the file back from a copy, or use an older one: \"strait store ls --store DIR\" says "
     "which "
     "are whole; \"strait server --restore CLOCK\" and \"strait store export --clock CLOCK\" take "
     "it. Look after the disk: files do not change by themselves."},
    {CLI_ERROR_NO_TABLE, CLI_FAILED, "no table of that name",
     "The checkpoint does not hold such a table, perhaps because it was made before the table "
     "was.",
     "\"strait store cat --store DIR\" lists the tables."},
    {CLI_ERROR_RESTORE, CLI_BAD_CONFIGURATION, "checkpoints that the server cannot start from",
     "The server found checkpoints in its --store but cannot go on from them. Either a shard has "
     "lost "
     "its part of the newest one (a file is missing or damaged), or the shards are of two "
     "trainings: "
     "started from these, the model would be a mixture. Or they are of a site with another number "
     "of "
     "shards or other tables, or of another version of Strait.",
     "If files were lost, put them back from a copy. Else \"--restore CLOCK\" goes on from an "
     "older "
     "checkpoint that all shards have (\"strait store ls --store DIR\" lists them), and "
     "\"--restore "
     "none\" discards all and begins anew. If the settings differ, start it with those that it had "
     "before (\"strait store cat --store DIR\" shows them), or give it another folder."},
    {CLI_ERROR_KEEP, CLI_FAILED, "last checkpoint that could not be written",
     "The server was stopped and has told everybody, but its last checkpoint was not written: the "
     "disk is full, or refused. What was learnt since the one before is lost.",
     "Look after the disk. Start the server again: it goes on from the last complete checkpoint."},
    {CLI_ERROR_STATE, CLI_BAD_CONFIGURATION, "state of a worker that cannot be used",
     "The worker found in its --state folder what a worker has saved there, but cannot go on from "
     "it: it is of another job, of another part of the data, of other data, or damaged. The "
     "message names the file and what is wrong.",
     "Start the worker with what it had before, or name another folder to begin anew. To begin "
     "anew in the middle of a run is harmless for mf; lda would count its tokens a second time."},
    {CLI_ERROR_UPDATES, CLI_BAD_CONFIGURATION, "recorded updates that cannot be used",
     "A file of updates is not what can be read, is cut short, or does not fit the others. The "
     "message names the file and the line or element.",
     "A file is a .npy array of float32, with one axis for one clock or with two for several "
     "(clocks, elements), or has a line {\"clock\": NUMBER, \"values\": [NUMBER, ...]} for each "
     "clock. \"strait run FILE --record-updates DIR\" writes such files; docs/CODEC.md has more."},
    {CLI_ERROR_STORE, CLI_FAILED, "store that cannot be used",
     "The folder of --store, or a checkpoint in it, cannot be made, read or written. The message "
     "names it and ends with the reason of the system.",
     "Check that the path is right and its parent is there, that the folder belongs to who runs "
     "the server, that the disk is not full, and that \"ulimit -n\" is not too low."},
    {CLI_ERROR_STORE_FULL, CLI_TRY_AGAIN, "store without space",
     "The disk of the --store folder is full, or the quota is used up, so that the server cannot "
     "write which training its checkpoints belong to. Nothing was changed there.",
     "Make room, or name a folder on another disk, and start the server again. \"strait run\" "
     "starts it again by itself."},
    {CLI_ERROR_UNREACHABLE, CLI_UNREACHABLE, "nobody answers at that address",
     "No connection could be made to the address, or it ended before an answer came.",
     "Check the address and the port, and that the other side runs. \"strait doctor\" looks at "
     "this machine; a firewall may stand in between. If many connect at once, some are turned "
     "away: try again."},
    {CLI_ERROR_LISTEN, CLI_FAILED, "address that cannot be listened on",
     "The system does not let the program listen there: the port is in use, or the address is not "
     "one of this machine.",
     "Choose another port, or 0 for one that is free. 0.0.0.0 stands for all addresses of this "
     "machine, [::] for those of IPv6 too."},
    {CLI_ERROR_WRONG_AUTHORITY, CLI_BAD_CONFIGURATION, "not the authority that the token names",
     "A token holds the fingerprint of its authority. The other side could not show a certificate "
     "of that authority, or does not hand out certificates at all. The token was not sent to it, "
     "unless the message speaks of its answer.",
     "Check the address: it must be where \"strait cert serve\" runs, with the authority that made "
     "the token. If both are right, somebody is in between: do not go on."},
    {CLI_ERROR_JOIN_REFUSED, CLI_REFUSED, "token that the authority refuses",
     "The token was used before, has expired (after 15 minutes, unless made otherwise), is not "
     "known, or is not for the name that was asked for. The authority does not tell strangers "
     "which; who runs it can see it there.",
     "Ask for a new token. If the token leaves the name open, choose one with --name that is not "
     "taken."},
    {CLI_ERROR_JOIN_LATER, CLI_TRY_AGAIN, "authority that cannot issue now",
     "The authority had trouble of its own, for instance with its disk. The token is still good.",
     "Try again, or ask who runs the authority to look at what it says."},
    {CLI_ERROR_PEER_REFUSED, CLI_REFUSED, "the other side does not want us, or we not it",
     "Somebody answers at that address, but a certificate was not accepted, the identity is not "
     "wanted there, or the versions have nothing in common; the message says which.",
     "Are both clocks right? Does the other side speak TLS, or was it started with --insecure? "
     "Both "
     "need certificates of the same authority that have not expired and were not revoked: \"strait "
     "doctor --cert DIR\" checks them."},
    {CLI_ERROR_SITE_DIFFERS, CLI_BAD_CONFIGURATION, "server that does not fit its site",
     "All servers of a site must agree on what the site is. A further server gets that from the "
     "first one; an option that was given says otherwise.",
     "Start it with the command that the first server prints, and leave other options away."},
    {CLI_ERROR_TABLE_TOO_BIG, CLI_REFUSED, "table for which there is no memory",
     "A server or this worker has not the memory that the table needs, or the operator does not "
     "give tables that much. The message says who, how much is needed, and the limit. The table "
     "was made on no server.",
     "Give the server more with --table-memory if the machine has it, spread the model over more "
     "servers or lanes, or make the model smaller. A table that nobody needs any more can be "
     "dropped: \"strait table drop\"."},
    {CLI_ERROR_TABLE_STAYS, CLI_FAILED, "table that is not dropped",
     "A table is only dropped when no worker uses it, and only in a site that shares its model "
     "with no other: what one site drops another one would bring back. The message says which "
     "lane refused, and why. Lanes before that one have dropped it.",
     "Stop the workers that use it, and run the command again. Several sites: stop all of them, "
     "and start them with empty stores."},
    {CLI_ERROR_RUN_FAILED, CLI_FAILED, "run or worker that did not get to its end",
     "Training began and could not go on: the message says who met what. What was done until then "
     "is in the record of the run.",
     "If a server lost its parameters, give it checkpoints (checkpoint.every in a run file, "
     "--store "
     "for a server), or deliver by broadcast. If a process ended by itself, its last lines are in "
     "the message and all of them in the record."},
    {CLI_ERROR_JOB, CLI_BAD_CONFIGURATION, "job that cannot be done",
     "There is no job of that name, one of its options is not known or has a value that it cannot "
     "have, or its data cannot be read. The message names the option, or the file and the line.",
     "\"strait worker --jobs\" lists the jobs with their options. Paths of data in a run file "
     "start "
     "where the file is."},
    {CLI_ERROR_SCENARIO, CLI_BAD_CONFIGURATION, "scenario that cannot be read",
     "A line of the script is not a statement that the simulator knows, or names something that is "
     "not there. The message has the file, the line and what was expected.",
     "\"strait help sim\" shows the statements, \"strait sim --faults\" the faults, and \"strait "
     "sim --builtin\" prints a script that works."},
    {CLI_ERROR_SIM_BROKEN, CLI_FAILED, "invariant that did not hold in the simulation",
     "In the simulated world something happened that must never happen, such as an acknowledged "
     "update that was lost or counted twice, or work that was not done in time. This is a bug of "
     "Strait, or a scenario that ends before its work can be done.",
     "Run the same scenario and seed with --transcript: it happens again in exactly the same way. "
     "If the message says that something was not acknowledged, give the scenario more time with "
     "\"run\"; otherwise please report the scenario and the seed."},
    {CLI_ERROR_RUN_FILE, CLI_BAD_CONFIGURATION, "run file that cannot be used",
     "The file is not YAML, has a key that is not known or a value of the wrong kind, or things in "
     "it do not go together. The message has the line and what is allowed.",
     "docs/RUNFILE.md has every key with its default. \"strait run FILE --dry-run\" checks a file "
     "and prints it with all defaults."},
    {CLI_ERROR_HOSTS, CLI_BAD_CONFIGURATION, "machines that do not fit the run",
     "The file of --hosts cannot be read, or the machines that there are do not fit the run: a "
     "region without a machine, too few slots, ports that overlap, too few nodes of a Slurm job. "
     "The message says which.",
     "docs/RUNS.md has every key of a hosts file. \"strait run FILE --dry-run\" shows which "
     "regions have members."},
    {CLI_ERROR_PLAN_FILE, CLI_BAD_CONFIGURATION, "problem that cannot be planned as it is written",
     "The file is not JSON, has a key that is not known or a value that cannot be, or something is "
     "missing. The message has the place and what is allowed.",
     "docs/PLAN.md describes the format, with examples."},
    {CLI_ERROR_NO_TREE, CLI_FAILED, "no tree fits the limits",
     "There are more workers than a tree of that degree and depth can hold. The message says which "
     "degree would do, or which depth.",
     "Change \"degree\" or \"depth\" in the file."},
    {CLI_ERROR_NO_PLACE, CLI_BAD_CONFIGURATION, "no plan within what is allowed",
     "No region can hold the server: from somewhere none is reached without what is ruled out, or "
     "no plan costs as little as --usd-limit wants. The message says which.",
     "Rule out less (--no-server, --no-relay, --avoid), or allow more dollars; --objective dollars "
     "tells what the cheapest plan costs."},
    {CLI_ERROR_PLAN_ANSWER, CLI_BAD_CONFIGURATION, "file that is not a plan",
     "The file is not what \"strait plan place --json\" prints, or was printed by a later version "
     "of it. The message says what is missing.",
     "Make it anew with \"strait plan place FILE --bytes SIZE --json\"."},
    {CLI_ERROR_PLAN_BROKEN, CLI_FAILED, "plan that is not what it says",
     "Before a plan is printed its time is computed again from its paths and the links alone. That "
     "gave something else, so it is not printed: this is an error in Strait.",
     "Please report it with the file and the command. Another --method or --seed may do for now."},
    {CLI_ERROR_TOPOLOGY, CLI_BAD_CONFIGURATION, "topology file that cannot be used",
     "The file is not JSON (or, for plans, GraphML), has a key that is not known or a figure that "
     "cannot be, or neither a lab nor a plan can be made of it. The message has the place and what "
     "is allowed.",
     "topologies/README.md describes the format, and the files beside it are examples."},
    {CLI_ERROR_LAB_REFUSED, CLI_REFUSED, "lab that cannot be made on this machine",
     "A lab is made of network namespaces, and needs root, /dev/net/tun, a kernel with htb, u32 "
     "and "
     "nf_tables, and the programs ip, tc and nft. The message says what is missing.",
     "Run it as root. Install what is missing: apt-get install iproute2 nftables. In a container, "
     "CAP_SYS_ADMIN, CAP_NET_ADMIN and the device /dev/net/tun are needed. Without any of that "
     "\"strait run --on sim\" emulates links in virtual time."},
    {CLI_ERROR_LAB_RUNS, CLI_FAILED, "lab that is there already",
     "A lab of that name runs, or is being made or taken down at this moment.",
     "\"strait lab show\" shows it and \"strait lab down\" ends it. --name makes a second one."},
    {CLI_ERROR_NO_LAB, CLI_FAILED, "no lab of that name",
     "No lab of that name runs: it was not made, was taken down, or its keeper was killed.",
     "Make it with \"strait lab up FILE\". If it was called otherwise, say --name. What a killed "
     "keeper left is cleared by \"strait lab down\" and by the next \"strait lab up\"."},
    {CLI_ERROR_LAB, CLI_FAILED, "lab that failed",
     "The lab could not do what it was told, or ended by itself. The message has the reason; if a "
     "tool of the system failed, also the line that it was given.",
     "\"strait lab show\" tells what is the case now, and /run/strait/lab-NAME/log what happened. "
     "To begin anew: \"strait lab down\", then \"strait lab up\"."},
    {CLI_ERROR_PLAN_PROCESS, CLI_FAILED, "process of a planner that died",
     "A plan is made by several processes, and one of them did not come to its end. The message "
     "says what ended it; signal 9 mostly is the system, which had no memory left.",
     "With --jobs 1 or a smaller --paths it takes less memory. If it died by itself, please report "
     "it with the file and the command."},
    {CLI_ERROR_NO_LINKS, CLI_FAILED, "cluster whose links are no network to plan with",
     "The site has no other sites, or too little is known of the links between them: links that "
     "are down are left out, and so are those that are not measured, and what is left does not "
     "join all sites. The message says which.",
     "A link is measured by what goes over it, so let the sites work for a while. --assume RATE "
     "plans with that rate for links that are not measured. \"strait plan links\" shows all of "
     "them, \"strait why\" why a site is away."},
    {CLI_ERROR_NO_MEMORY, CLI_TRY_AGAIN, "out of memory, threads or descriptors",
     "The system gave no memory, no thread or no file descriptor.",
     "Look at \"strait doctor\", at ulimit -v, -u and -n, and at the limits of the container or of "
     "the batch system."},
    {CLI_ERROR_BENCH, CLI_FAILED, "benchmark that did not come to its end",
     "One of the two sides of a benchmark could not be run. The message says which and why.",
     "Look at \"strait doctor\": open files, memory, loopback. If the machine is fine, please "
     "report it."},
    {0},
};

const struct cli_error *cli_error_find(enum cli_error_id id)
{
    for (const struct cli_error *e = cli_errors; e->id != CLI_ERROR_NONE; e++) {
        if (e->id == id) {
            return e;
        }
    }
    return NULL;
}

char *cli_error_name(enum cli_error_id id, char *out)
{
    (void)snprintf(out, CLI_ERROR_NAME_BYTES, "STRAIT-%04u", (unsigned)id % 10000);
    return out;
}

const struct cli_error *cli_error_parse(const char *text)
{
    static const char prefix[] = "STRAIT-";
    size_t size = sizeof(prefix) - 1;

    if (strncasecmp(text, prefix, size) != 0 || strspn(text + size, "0123456789") != 4 ||
        text[size + 4] != '\0') {
        return NULL;
    }
    return cli_error_find((enum cli_error_id)strtol(text + size, NULL, 10));
}
