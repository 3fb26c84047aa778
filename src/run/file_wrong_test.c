/* Wrong run files: one good file, a hundred ways to spoil it, and the exact words that each gets.
 */

#include "run/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define TOPOLOGY                                                                                   \
    "topology:\n"                                                                                  \
    "  regions: [eu, us]\n"                                                                        \
    "  links: [{between: [eu, us], rate: 100mbit, delay: 40ms}]\n"
#define SERVERS "servers: [{region: eu}]"
#define WORKERS "workers: [{region: us, count: 2}]"
#define JOB "job: {name: lenet}"
#define STOP "stop: {clocks: 10}"
#define WHOLE "run: demo\n" TOPOLOGY SERVERS "\n" WORKERS "\n" JOB "\n" STOP "\n"

/* @part of the good file is replaced. */
struct wrong {
    const char *part;
    const char *by;
    const char *complaint; /* Behind the name of the file. */
};

static const struct wrong wrongs[] = {
    {WHOLE, "", "1:1: there is nothing in it"},
    {WHOLE, "# nothing but a comment\n", "1:1: there is nothing in it"},
    {WHOLE, "run: demo\n  seed: 3\n",
     "2:7: not YAML: mapping values are not allowed in this context"},
    {WHOLE, "run: [a\n",
     "2:1: not YAML: while parsing a flow sequence, did not find expected ',' or ']'"},
    {WHOLE, "run: \"a\n",
     "2:1: not YAML: while scanning a quoted scalar, found unexpected end of stream"},
    {WHOLE, "\trun: a\n",
     "1:1: not YAML: while scanning for the next token, found character that cannot start any "
     "token"},
    {WHOLE, "run: a\xff\n", "1:7: not YAML: invalid leading UTF-8 octet"},
    {WHOLE, "run: &x a\n",
     "1:6: anchors (&name) are not allowed: write the value where it is needed"},
    {WHOLE, "run: *x\n", "1:6: aliases (*name) are not allowed: write the value again"},
    {WHOLE, "run: !!str a\n", "1:6: tags (!name) are not allowed: leave it out"},
    {WHOLE, "run: a\n---\nrun: b\n", "2:1: a second document begins: only one is allowed"},
    {WHOLE, "[a]: b\n", "1:1: a key has to be a text"},
    {WHOLE, "- run\n", "1:1: has to be a mapping (key: value), but is a list"},
    {WHOLE, "run: a\nseed: 1\nrun: b\n", "3:1: the key 'run' is there already, in line 1"},
    {WHOLE, "run: \"a\\nb\"\n",
     "1:6: the text has a control character or a line break: leave it out"},
    {WHOLE, "[[[[[[[[[[[[[[[[[a]]]]]]]]]]]]]]]]]\n", "1:17: more than 16 levels deep"},
    {"run: demo\n", "", "1:1: 'run' is missing: write run: NAME"},
    {TOPOLOGY, "", "1:1: 'topology' is missing: write topology: FILE.json"},
    {SERVERS "\n", "", "1:1: 'servers' is missing: write servers: [{region: NAME}]"},
    {WORKERS "\n", "", "1:1: 'workers' is missing: write workers: [{region: NAME, count: 2}]"},
    {JOB "\n", "", "1:1: 'job' is missing: write job: {name: NAME}"},
    {STOP "\n", "", "1:1: 'stop' is missing: write stop: {clocks: 200}"},
    {WORKERS, "worker: [{region: us}]", "6:1: worker: no such key: did you mean 'workers'?"},
    {SERVERS, SERVERS "\nepochs: 3",
     "6:1: epochs: no such key: there are run, seed, topology, shards, servers, workers, job, "
     "sync, checkpoint, evaluate, state, stop, faults, compute"},
    {SERVERS, "servers: [{regoin: eu}]",
     "5:12: servers[0].regoin: no such key: did you mean 'region'?"},
    {SERVERS, "servers: [{lanes: 1}]", "5:11: servers[0]: 'region' is missing: write region: NAME"},
    {SERVERS, "servers: s0", "5:10: servers: has to be a list, but is a text"},
    {SERVERS, "servers:", "5:9: servers: has to be a list, but is empty"},
    {SERVERS, "servers: [eu]", "5:11: servers[0]: has to be a mapping (key: value), but is a text"},
    {SERVERS, "servers: []", "5:10: servers: has 0 entries: write 1 to 64 of them"},
    {JOB, "job: lenet", "7:6: job: has to be a mapping (key: value), but is a text"},
    {"run: demo", "run: [demo]", "1:6: run: has to be a text, but is a list"},
    {SERVERS, "servers: [{region: eu, lanes: two}]",
     "5:31: servers[0].lanes: 'two' is not a whole number"},
    {SERVERS, "servers: [{region: eu, lanes: [2]}]",
     "5:31: servers[0].lanes: has to be a whole number, but is a list"},
    {SERVERS, "servers: [{region: eu, lanes: 0}]",
     "5:31: servers[0].lanes: 0 is out of range: write a whole number from 1 to 16"},
    {SERVERS, "servers: [{region: eu, lanes: 17}]",
     "5:31: servers[0].lanes: 17 is out of range: write a whole number from 1 to 16"},
    {SERVERS, "servers: [{region: eu, lanes: 010}]",
     "5:31: servers[0].lanes: '010' is not a whole number"},
    {SERVERS, "servers: [{region: eu, lanes: 99999999999}]",
     "5:31: servers[0].lanes: 99999999999 is too large a number"},
    {SERVERS, SERVERS "\nseed: -1", "6:7: seed: '-1' is not a whole number"},
    {SERVERS, SERVERS "\nseed: 18446744073709551616",
     "6:7: seed: 18446744073709551616 is too large a number"},
    {SERVERS, SERVERS "\nshards: 5000",
     "6:9: shards: 5000 is out of range: write a whole number from 1 to 4096"},
    {SERVERS, "servers: [{region: eu, lanes: 4}]\nshards: 2",
     "6:9: shards: 2 are too few for 4 lanes: write 4 to 4096, or leave it out"},
    {WORKERS, "workers: [{region: us, count: 200},\n  {region: eu, count: 57}]",
     "6:10: workers: are 257 in all: at most 256 are allowed"},
    {WORKERS, "workers: [{region: us, streams: 17}]",
     "6:33: workers[0].streams: 17 is out of range: write a whole number from 1 to 16"},
    {WORKERS, "workers: [{region: us, slowdown: fast}]",
     "6:34: workers[0].slowdown: 'fast' is not a number"},
    {WORKERS, "workers: [{region: us, slowdown: 0}]",
     "6:34: workers[0].slowdown: 0 is out of range: write a number from 0.001 to 1000"},
    {WORKERS, "workers: [{region: us, slowdown: 1e999}]",
     "6:34: workers[0].slowdown: 1e999 is too large a number"},
    {WORKERS, "workers: [{region: us, slowdown: {}}]",
     "6:34: workers[0].slowdown: has to be a number, but is a mapping"},
    {"run: demo", "run: my run",
     "1:6: run: 'my run' is not a name: use 1 to 64 of the characters A-Z a-z 0-9 . _ -"},
    {"run: demo", "run: \"\"",
     "1:6: run: '' is not a name: use 1 to 64 of the characters A-Z a-z 0-9 . _ -"},
    {SERVERS, "servers: [{name: a/b, region: eu}]",
     "5:18: servers[0].name: 'a/b' is not a name: use 1 to 64 of the characters A-Z a-z 0-9 . _ -"},
    {SERVERS, "servers: [{name: w1, region: eu}]",
     "5:18: servers[0].name: 'w1' is the name of a worker: workers are called w0, w1, ..."},
    {SERVERS, "servers:\n  - {name: a, region: eu}\n  - {name: a, region: us}",
     "7:12: servers[1].name: servers[0] is called 'a' too: names have to differ"},
    {SERVERS, "servers:\n  - {name: s1, region: eu}\n  - {region: us}",
     "7:5: servers[1].name: servers[0] is called 's1' too: names have to differ"},
    {SERVERS, "servers: [{region: eu1}]",
     "5:20: servers[0].region: there is no region 'eu1' in the topology: did you mean 'eu'?"},
    {SERVERS, "servers: [{region: mars}]",
     "5:20: servers[0].region: there is no region 'mars' in the topology: the regions are eu, us"},
    {WORKERS, "workers: [{region: us},\n  {region: usa}]",
     "7:12: workers[1].region: there is no region 'usa' in the topology: did you mean 'us'?"},
    {TOPOLOGY, "topology: [a]\n",
     "2:11: topology: has to be the path of a topology file, or a mapping with regions and links"},
    {TOPOLOGY, "topology:\n",
     "2:10: topology: is empty: write the path of a topology file, or regions and links"},
    {"rate: 100mbit", "rate: 100",
     "4:31: topology.links[0].rate: is a number: write a text, such as \"100mbit\""},
    {"rate: 100mbit", "rat: 100mbit",
     "4:31: topology.links[0].rat: no such key: did you mean 'rate'?"},
    {"regions: [eu, us]", "regions: [eu, 5]",
     "3:17: topology.regions[1]: is a number: write a name in quotes, or an object {\"name\": "
     "...}"},
    {"regions: [eu, us]", "regions: []",
     "3:3: topology.regions: there is no region: \"regions\" needs at least one"},
    {"regions: [eu, us]", "strait_topology: 2\n  regions: [eu, us]",
     "3:3: topology.strait_topology: this program reads version 1 of topologies only"},
    {"delay: 40ms", "delay: 40ms, price: 2x",
     "4:59: topology.links[0].price: is a text: write a number, without quotes"},
    {"between: [eu, us]", "from: eu, to: us",
     "6:20: workers[0].region: the topology has no link from us to eu, and server s0 is in eu: add "
     "the link, or a default_link"},
    {"between: [eu, us]", "from: us, to: eu",
     "6:20: workers[0].region: the topology has no link from eu to us, and server s0 is in eu: add "
     "the link, or a default_link"},
    {JOB, "job: {name: lent}", "7:13: job.name: there is no job 'lent': did you mean 'lenet'?"},
    {JOB, "job: {name: cnn-large}",
     "7:13: job.name: there is no job 'cnn-large': there are lenet, mlp, mf, logreg, lda, "
     "synthetic"},
    {JOB, "job: {nam: lenet}", "7:7: job.nam: no such key: did you mean 'name'?"},
    {JOB, "job: {data: x}", "7:6: job: 'name' is missing: write name: NAME"},
    {JOB, "job: {name: lenet, options: [batch]}",
     "7:29: job.options: has to be a mapping (key: value), but is a list"},
    {JOB, "job: {name: lenet, options: {batch: [64]}}",
     "7:37: job.options: 'batch' has to be a number or a word, but is a list"},
    {JOB, "job: {name: lenet, options: {batch: }}",
     "7:37: job.options: 'batch' has to be a number or a word, but is empty"},
    {JOB, "job: {name: lenet, options: {\"\": 3}}", "7:30: job.options: an option needs a name"},
    {JOB, JOB "\nsync: {barrier: bsb}",
     "8:17: sync.barrier: 'bsb' is not one of bsp, ssp, tap: did you mean 'bsp'?"},
    {JOB, JOB "\nsync: {barrier: [bsp]}", "8:17: sync.barrier: has to be a word, but is a list"},
    {JOB, JOB "\nsync: {barrier: async}",
     "8:17: sync.barrier: 'async' is not one of bsp, ssp, tap"},
    {JOB, JOB "\nsync: {barrier: tap, staleness: 2}",
     "8:33: sync.staleness: belongs to the barrier ssp, and the barrier is tap: leave it out, or "
     "write 'barrier: ssp'"},
    {JOB, JOB "\nsync: {staleness: 2}",
     "8:19: sync.staleness: belongs to the barrier ssp, and the barrier is bsp: leave it out, or "
     "write 'barrier: ssp'"},
    {JOB, JOB "\nsync: {barrier: ssp, staleness: 1025}",
     "8:33: sync.staleness: 1025 is out of range: write a whole number from 0 to 1024"},
    {JOB, JOB "\nsync: {delivery: push}",
     "8:18: sync.delivery: 'push' is not one of pull, broadcast: did you mean 'pull'?"},
    {JOB, JOB "\nsync: {barrier: ssp, order: fixed}",
     "8:29: sync.order: 'fixed' belongs to the barrier bsp, and the barrier is ssp: leave it out, "
     "or write 'barrier: bsp'"},
    {JOB, JOB "\nsync: {deadline: 120}",
     "8:18: sync.deadline: '120' is not a time: write a number and its unit (ns, us, ms, s, min or "
     "h), such as 40ms"},
    {JOB, JOB "\nsync: {deadline: [120s]}",
     "8:18: sync.deadline: has to be a time, such as 120s, but is a list"},
    {JOB, JOB "\nsync: {deadline: 25h}",
     "8:18: sync.deadline: is out of range: write a time from 0ns to 86400s"},
    {JOB, JOB "\nsync: {staleness: 2, barier: ssp}",
     "8:22: sync.barier: no such key: did you mean 'barrier'?"},
    {JOB, JOB "\ncheckpoint: {every: 20, keep: 0}",
     "8:31: checkpoint.keep: 0 is out of range: write a whole number from 1 to 100"},
    {JOB, JOB "\ncheckpoint: {every: often}",
     "8:21: checkpoint.every: 'often' is not a whole number"},
    {JOB, JOB "\nevaluate: 10", "8:11: evaluate: has to be a mapping (key: value), but is a text"},
    {JOB, JOB "\nevaluate: {evry: 10}", "8:12: evaluate.evry: no such key: did you mean 'every'?"},
    {STOP, "stop: {}",
     "8:7: stop: nothing ends the run: write one of clocks, objective, accuracy, time"},
    {STOP, "stop: {clocks: 0}",
     "8:16: stop.clocks: 0 is out of range: write a whole number from 1 to 1000000000"},
    {STOP, "stop: {accuracy: 90}",
     "8:18: stop.accuracy: 90 is out of range: write a number from 0.001 to 1"},
    {STOP, "stop: {time: 10 min}",
     "8:14: stop.time: '10 min' is not a time: write a number and its unit (ns, us, ms, s, min or "
     "h), such as 40ms"},
    {STOP, "stop: {time: 0}",
     "8:14: stop.time: is out of range: write a time from 1ns to 31622400s"},
    {STOP, "stop: {objective: low}", "8:19: stop.objective: 'low' is not a number"},
    {JOB, JOB "\nstate: {evry: 10}", "8:9: state.evry: no such key: did you mean 'every'?"},
    {JOB, JOB "\nstate: {every: 1000000001}",
     "8:16: state.every: 1000000001 is out of range: write a whole number from 0 to 1000000000"},
    {STOP, "evaluate: {every: 0}\nstop: {objective: 0.3}",
     "9:19: stop.objective: needs evaluations, and evaluate.every is 0: write a number of clocks"},
    {STOP, "evaluate: {every: 0}\nstop:\n  accuracy: 0.9",
     "10:13: stop.accuracy: needs evaluations, and evaluate.every is 0: write a number of clocks"},
    {STOP, STOP "\ncompute: {gflops: 0}",
     "9:19: compute.gflops: 0 is out of range: write a number from 0.001 to 100000"},
    {STOP, STOP "\ncompute: 20", "9:10: compute: has to be a mapping (key: value), but is a text"},
    {STOP, STOP "\nfaults: at 3s kill s0",
     "9:9: faults: has to be a list of texts, such as [\"at 3s kill s0 for 500ms\"]"},
    {STOP, STOP "\nfaults: [at 3s kill s0, {a: b}]",
     "9:25: faults[1]: has to be a text, such as \"at 3s kill s0 for 500ms\", but is a mapping"},
    {STOP, STOP "\nfaults:\n  - kill s0 at 3s",
     "10:5: faults[0]: write 'at TIME FAULT ...' or 'storm from TIME to TIME every TIME'"},
    {STOP, STOP "\nfaults:\n  - at 3 kill s0",
     "10:5: faults[0]: '3' is not a time: write a number and its unit (ns, us, ms, s, min or h), "
     "such as 40ms"},
    {STOP, STOP "\nfaults:\n  - at 3s kil s0",
     "10:5: faults[0]: there is no fault 'kil': did you mean 'kill'?"},
    {STOP, STOP "\nfaults:\n  - at 3s kill s1",
     "10:5: faults[0]: there is no member 's1': there are servers s0 and workers w0 to w1"},
    {STOP, STOP "\nfaults:\n  - at 3s pause w2 for 1s",
     "10:5: faults[0]: there is no member 'w2': there are servers s0 and workers w0 to w1"},
    {STOP, STOP "\nfaults:\n  - at 3s pause",
     "10:5: faults[0]: there is no member '': there are servers s0 and workers w0 to w1"},
    {STOP, STOP "\nfaults:\n  - at 3s cut eu mars for 1s",
     "10:5: faults[0]: there is no region 'mars': the regions are eu, us"},
    {STOP, STOP "\nfaults:\n  - at 3s explode",
     "10:5: faults[0]: there is no fault 'explode': there are kill, power, pause, cut, cut-one, "
     "slow, spike, loss, reset, reorder, duplicate, flip, fragment, clock, memory, disk-full, "
     "disk-short, disk-sync, disk-rename"},
    {STOP, STOP "\nfaults:\n  - storm at noon",
     "10:5: faults[0]: write: storm from TIME to TIME every TIME [only FAULT,...]"},
    {STOP, STOP "\nfaults:\n  - storm from 1s to 9s every now",
     "10:5: faults[0]: 'now' is not a time: write a number and its unit (ns, us, ms, s, min or h), "
     "such as 40ms"},
    {STOP,
     STOP "\nfaults:\n  - \"at 3s kill s0 for 1s "
          "########################################################################################"
          "########################################################################################"
          "################################################################\"",
     "10:5: faults[0]: is longer than 255 bytes"},
};

static const char good[] = WHOLE;

static void spoil(const struct wrong *w, char *out, size_t size)
{
    const char *at = strstr(good, w->part);

    assert_non_null(at);
    assert_null(strstr(at + 1, w->part));
    (void)snprintf(out, size, "%.*s%s%s", (int)(at - good), good, w->by, at + strlen(w->part));
}

static void test_the_good_file_is_good(void **state)
{
    struct run_file *f = NULL;
    struct err_text why = {""};

    (void)state;
    assert_int_equal(run_file_parse("r.yaml", NULL, good, strlen(good), &f, &why), OK);
    run_file_free(f);
}

static void test_every_mistake_has_its_words_and_its_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
        char spoiled[2048], expected[ERR_TEXT_BYTES];
        struct run_file *f = NULL;
        struct err_text why = {""};
        enum err rc;

        spoil(&wrongs[i], spoiled, sizeof(spoiled));
        rc = run_file_parse("r.yaml", ".", spoiled, strlen(spoiled), &f, &why);
        (void)snprintf(expected, sizeof(expected), "r.yaml:%s", wrongs[i].complaint);
        assert_string_equal(why.text, expected);
        assert_true(rc == ERR_MALFORMED || rc == ERR_TOO_BIG);
        assert_null(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_good_file_is_good),
        cmocka_unit_test(test_every_mistake_has_its_words_and_its_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
