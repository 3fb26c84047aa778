/* Wrong run files: one good file, a hundred ways to spoil it, and the exact words that each gets.
 */

#include "run/file/file.h"

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
    {SERVERS "\n", "", "1:1: 'servers' is missing: write servers: [{region: NAME}], or sites"},
    {WORKERS "\n", "",
     "1:1: 'workers' is missing: write workers: [{region: NAME, count: 2}], or sites"},
    {JOB "\n", "", "1:1: 'job' is missing: write job: {name: NAME}"},
    {STOP "\n", "", "1:1: 'stop' is missing: write stop: {clocks: 200}"},
    {WHOLE, "set: a\ncells: []\n",
     "1:6: set: this is a set of comparisons, not a run: strait compare --set r.yaml"},
    {WORKERS, "worker: [{region: us}]", "6:1: worker: no such key: did you mean 'workers'?"},
    {SERVERS, SERVERS "\nepochs: 3",
     "6:1: epochs: no such key: there are run, seed, topology, links, shards, servers, workers, "
     "sites, between, layout, lan_region, machine, budget, job, sync, checkpoint, evaluate, state, "
     "stop, faults, background, compute"},
    {SERVERS, SERVERS "\nsites: [{region: eu}]",
     "5:1: servers: the file has sites: give each of them its servers instead"},
    {SERVERS, "sites: [{region: eu}]",
     "6:1: workers: the file has sites: give each of them its workers instead"},
    {SERVERS, SERVERS "\nbetween: {}",
     "6:1: between: belongs to files with sites: leave it out, or write sites instead of servers "
     "and workers"},
    {SERVERS, SERVERS "\nlayout: lan",
     "6:1: layout: belongs to files with sites: leave it out, or write sites instead of servers "
     "and workers"},
    {SERVERS, SERVERS "\nlan_region: eu",
     "6:1: lan_region: belongs to files with sites: leave it out, or write sites instead of "
     "servers "
     "and workers"},
    {SERVERS, SERVERS "\nbudget: {max_gb: 1}",
     "6:1: budget: belongs to files with sites: leave it out, or write sites instead of servers "
     "and workers"},
    {SERVERS, SERVERS "\nmachine: cpu",
     "6:10: machine: region us has no price for machines of class 'cpu': add it to the "
     "usd_per_hour of that region, or leave 'machine' out"},
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
     "8:7: stop: nothing ends the run: write one of clocks, objective, accuracy, converged, "
     "time"},
    {STOP, "stop: {converged: false}",
     "8:7: stop: nothing ends the run: write one of clocks, objective, accuracy, converged, time"},
    {STOP, "stop: {converged: yes}",
     "8:19: stop.converged: has to be true, or {change: 2%, clocks: 10}"},
    {STOP, "stop: {converged: [1]}",
     "8:19: stop.converged: has to be a mapping (key: value), but is a list"},
    {STOP, "stop: {converged: {chnge: 1%}}",
     "8:20: stop.converged.chnge: no such key: did you mean 'change'?"},
    {STOP, "stop: {converged: {change: 0}}",
     "8:28: stop.converged.change: has to be a number or a percentage from 1e-09 to 1, such as 2%"},
    {STOP, "stop: {converged: {change: 101%}}",
     "8:28: stop.converged.change: has to be a number or a percentage from 1e-09 to 1, such as 2%"},
    {STOP, "stop: {converged: {clocks: 1001}}",
     "8:28: stop.converged.clocks: 1001 is out of range: write a whole number from 1 to 1000"},
    {STOP, "stop: {converged: {clocks: x}}",
     "8:28: stop.converged.clocks: 'x' is not a whole number"},
    {STOP, "stop: {converged: {clocks: 9}}",
     "8:19: stop.converged: is judged over 9 clocks, and evaluate.every is 10: evaluate at least "
     "as "
     "often, or write more clocks"},
    {STOP, "evaluate: {every: 0}\nstop: {converged: true}",
     "9:19: stop.converged: needs evaluations, and evaluate.every is 0: write a number of clocks"},
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
    {STOP, STOP "\ncompute: {time: 0s}",
     "9:17: compute.time: is out of range: write a time from 1ns to 86400s"},
    {STOP, STOP "\ncompute: {time: 1s, gflops: 20}",
     "9:17: compute.time: does not go together with compute.gflops: a step takes this time, or "
     "what its work takes"},
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
    {WHOLE,
     "run: demo\ntopology:\n  regions: [eu, us, ap]\n"
     "  links: [{between: [eu, us], rate: 1gbit, rtt: 9ms}, {from: eu, to: ap, rate: 1gbit, rtt: "
     "9ms}]"
     "\n" SERVERS "\n" WORKERS "\n" JOB "\n" STOP "\nfaults: [at 3s cut eu ap for 1s]\n",
     "9:10: faults[0]: there is no link from 'ap' to 'eu' in the topology"},
    {STOP, STOP "\nfaults:\n  - at 3s explode",
     "10:5: faults[0]: there is no fault 'explode': there are kill, power, pause, cut, cut-one, "
     "slow, spike, loss, reset, reorder, duplicate, flip, fragment, clock, memory, disk-full, "
     "disk-short, disk-sync, disk-rename, freeze, descriptors, memory-limit, disk-slow, "
     "lose-shard, damage, stall"},
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

#define SITES "sites: [{region: eu, workers: 2}, {name: west, region: us}]"
#define BETWEEN "between: {staleness: 4}"
#define GROUPS(first, second) "between: {groups: [" first ", " second "]}"
#define MANY                                                                                       \
    "run: demo\n"                                                                                  \
    "topology:\n"                                                                                  \
    "  regions: [{name: eu, usd_per_hour: 1}, {name: us, usd_per_hour: {gpu: 2}}, moon]\n"         \
    "  links: [{between: [eu, us], rate: 100mbit, delay: 40ms}]\n" SITES "\n" BETWEEN "\n" JOB     \
    "\n" STOP "\n"

/* The same for a file with sites. */
static const struct wrong wrong_sites[] = {
    {SITES, "sites: {eu: 1}", "5:8: sites: has to be a list, but is a mapping"},
    {SITES, "sites: []", "5:8: sites: has 0 entries: write 1 to 64 of them"},
    {SITES, "sites: [eu]", "5:9: sites[0]: has to be a mapping (key: value), but is a text"},
    {SITES, "sites: [{name: eu}]", "5:9: sites[0]: 'region' is missing: write region: NAME"},
    {SITES, "sites: [{region: eu, worker: 2}]",
     "5:22: sites[0].worker: no such key: did you mean 'workers'?"},
    {SITES, "sites: [{region: usa}]",
     "5:18: sites[0].region: there is no region 'usa' in the topology: did you mean 'us'?"},
    {SITES, "sites: [{region: eu, name: a b}]",
     "5:28: sites[0].name: 'a b' is not a name: use 1 to 64 of the characters A-Z a-z 0-9 . _ -"},
    {SITES, "sites: [{region: eu}, {region: us, name: eu}]",
     "5:42: sites[1].name: sites[0] is called 'eu' too: names have to differ"},
    {SITES, "sites: [{region: eu, name: a}, {region: eu, name: b}]",
     "5:41: sites[1].region: site 'a' is in eu already: make one site of both"},
    {SITES, "sites: [{region: eu, servers: 0}]",
     "5:31: sites[0].servers: has to be a whole number from 1 to 64, or a list of servers"},
    {SITES, "sites: [{region: eu, servers: 65}]",
     "5:31: sites[0].servers: has to be a whole number from 1 to 64, or a list of servers"},
    {SITES, "sites: [{region: eu, servers: two}]",
     "5:31: sites[0].servers: has to be a whole number from 1 to 64, or a list of servers"},
    {SITES, "sites: [{region: eu, servers: {name: a}}]",
     "5:31: sites[0].servers: has to be a whole number from 1 to 64, or a list of servers"},
    {SITES, "sites: [{region: eu, workers: 257}]",
     "5:31: sites[0].workers: has to be a whole number from 1 to 256, or a list of workers"},
    {SITES, "sites: [{region: eu, servers: []}]",
     "5:31: sites[0].servers: has 0 entries: write 1 to 64 of them"},
    {SITES, "sites: [{region: eu, servers: [{region: us}]}]",
     "5:33: sites[0].servers[0].region: no such key: there are name, lanes, edge, agg"},
    {SITES, "sites: [{region: eu, servers: [{lanes: 17}]}]",
     "5:40: sites[0].servers[0].lanes: 17 is out of range: write a whole number from 1 to 16"},
    {SITES, "sites: [{region: eu, servers: [{name: w3}]}]",
     "5:39: sites[0].servers[0].name: 'w3' is the name of a worker: workers are called w0, w1, "
     "..."},
    {SITES, "sites: [{region: eu, servers: [{name: x}]}, {region: us, servers: [{name: x}]}]",
     "5:75: sites[1].servers[0].name: servers[0] of site eu is called 'x' too: names have to "
     "differ"},
    {SITES,
     "sites: [{region: eu, name: "
     "a123456789b123456789c123456789d123456789e123456789f123456789g12}]",
     "5:9: sites[0].servers[0]: is called "
     "'a123456789b123456789c123456789d123456789e123456789f123456789g12-s0', which is too long: "
     "give "
     "the site a shorter name, or its servers names"},
    {SITES, "sites: [{region: eu, lanes: 0}]",
     "5:29: sites[0].lanes: 0 is out of range: write a whole number from 1 to 16"},
    {SITES, "sites: [{region: eu, streams: 99}]",
     "5:31: sites[0].streams: 99 is out of range: write a whole number from 1 to 16"},
    {SITES, "sites: [{region: eu, slowdown: 0}]",
     "5:32: sites[0].slowdown: 0 is out of range: write a number from 0.001 to 1000"},
    {SITES, "sites: [{region: eu, workers: [{count: 0}]}]",
     "5:40: sites[0].workers[0].count: 0 is out of range: write a whole number from 1 to 256"},
    {SITES, "sites: [{region: eu, workers: [{streams: x}]}]",
     "5:42: sites[0].workers[0].streams: 'x' is not a whole number"},
    {SITES, "sites: [{region: eu, workers: [{slowdown: 1e9}]}]",
     "5:43: sites[0].workers[0].slowdown: 1e+09 is out of range: write a number from 0.001 to "
     "1000"},
    {SITES, "sites: [{region: eu}, {region: us, servers: 2}]",
     "5:23: sites[1]: 'us' has 2 lanes in all, and 'eu' has 1: all sites must have as many; "
     "change its servers or their lanes"},
    {SITES, "sites: [{region: eu}, {region: moon}]",
     "5:32: sites[1].region: the topology has no link from moon to eu, and site eu is in eu: add "
     "the link, or a default_link"},
    {SITES, "sites: [{region: eu, servers: 40}, {region: us, servers: 40}]",
     "5:8: sites: have 80 servers up to 'us': at most 64 are allowed in all"},
    {SITES, "sites: [{region: eu, workers: 200}, {region: us, workers: 57}]",
     "5:8: sites: have 257 workers in all: at most 256 are allowed"},
    {SITES, "sites: [{region: eu, servers: 17, lanes: 16}]",
     "5:8: sites: have 272 lanes in all: at most 256 are allowed"},
    {SITES, SITES "\nshards: 0",
     "6:9: shards: 0 are too few for 1 lanes: write 1 to 4096, or leave it out"},
    {SITES, SITES "\nlayout: site",
     "6:9: layout: 'site' is not one of sites, plain, lan, centralised: did you "
     "mean 'sites'?"},
    {SITES, SITES "\nlan_region: mon",
     "6:13: lan_region: there is no region 'mon' in the topology: did you mean 'moon'?"},
    {BETWEEN, "between: 3", "6:10: between: has to be a mapping (key: value), but is a text"},
    {BETWEEN, "between: {stale: 3}", "6:11: between.stale: no such key: did you mean 'staleness'?"},
    {BETWEEN, "between: {colour: 3}",
     "6:11: between.colour: no such key: there are preset, significance, grain, library, "
     "threshold, goal, staleness, barrier, fresh, weight, streams, away, leave_out, groups, "
     "centre, no_centre, no_relay, reserve, move_gain, replan, plan"},
    {BETWEEN, "between: {significance: custom mine}",
     "6:25: between.significance: needs the library that has 'strait_significance_mine': write "
     "'library: PATH' beside it"},
    {BETWEEN, "between: {library: mine.so}",
     "6:20: between.library: is for 'significance: custom NAME': leave it out, or write that"},
    {BETWEEN, "between: {preset: giaa}",
     "6:19: between.preset: 'giaa' is not one of gaia, async, central: did you mean 'gaia'?"},
    {BETWEEN, "between: {goal: fun}", "6:17: between.goal: 'fun' is not one of speed, cost"},
    {BETWEEN, "between: {weight: men}",
     "6:19: between.weight: 'men' is not one of mean, sum: did you mean 'mean'?"},
    {BETWEEN, "between: {leave_out: all}",
     "6:22: between.leave_out: 'all' is not one of majority, any"},
    {BETWEEN, "between: {fresh: 101%}",
     "6:18: between.fresh: has to be a part of a clock, 0 to 1 or a percentage, such as 5%"},
    {BETWEEN, "between: {fresh: -0.1}",
     "6:18: between.fresh: has to be a part of a clock, 0 to 1 or a percentage, such as 5%"},
    {BETWEEN, "between: {fresh: [1]}",
     "6:18: between.fresh: has to be a part of a clock, 0 to 1 or a percentage, such as 5%"},
    {BETWEEN, "between: {barrier: yes}", "6:20: between.barrier: 'yes' is neither true nor false"},
    {BETWEEN, "between: {barrier: [true]}",
     "6:20: between.barrier: has to be true or false, but is a list"},
    {BETWEEN, "between: {threshold: much}",
     "6:22: between.threshold: has to be a number or a percentage, such as 0.01 or 1%"},
    {BETWEEN, "between: {threshold: 1e1%}",
     "6:22: between.threshold: has to be a number or a percentage, such as 0.01 or 1%"},
    {BETWEEN, "between: {threshold: '%'}",
     "6:22: between.threshold: has to be a number or a percentage, such as 0.01 or 1%"},
    {BETWEEN, "between: {threshold: [1]}",
     "6:22: between.threshold: has to be a number or a percentage, such as 0.01 or 1%"},
    {BETWEEN, "between: {threshold: -1}",
     "6:22: between.threshold: the threshold is -1, but must be a number from 0 to 1000000"},
    {BETWEEN, "between: {threshold: 1e7}",
     "6:22: between.threshold: the threshold is 1e+07, but must be a number from 0 to 1000000"},
    {BETWEEN, "between: {staleness: -1}",
     "6:22: between.staleness: has to be a whole number of clocks from 0 to 1048576, or none"},
    {BETWEEN, "between: {staleness: 1048577}",
     "6:22: between.staleness: has to be a whole number of clocks from 0 to 1048576, or none"},
    {BETWEEN, "between: {staleness: [1]}",
     "6:22: between.staleness: has to be a whole number of clocks from 0 to 1048576, or none"},
    {BETWEEN, "between: {streams: 0}",
     "6:20: between.streams: 0 is out of range: write a whole number from 1 to 16"},
    {BETWEEN, "between: {away: soon}",
     "6:17: between.away: 'soon' is not a time: write a number and its unit (ns, us, ms, s, min or "
     "h), such as 40ms"},
    {BETWEEN, "between: {away: 25h}",
     "6:17: between.away: is out of range: write a time from 0ns to 86400s"},
    {BETWEEN, "between: {groups: []}",
     "6:19: between.groups: has 0 entries: write 1 to 32 of them"},
    {BETWEEN, "between: {groups: [{name: a, sites: []}]}",
     "6:37: between.groups[0].sites: has 0 entries: write 1 to 64 of them"},
    {BETWEEN, "between: {groups: [{name: a}]}",
     "6:20: between.groups[0]: 'sites' is missing: write sites: [NAME, NAME]"},
    {BETWEEN, "between: {groups: [{sites: [eu]}]}",
     "6:20: between.groups[0]: 'name' is missing: write name: NAME"},
    {BETWEEN, GROUPS("{name: a b, sites: [eu]}", "{name: b, sites: [west]}"),
     "6:27: between.groups[0].name: 'a b' is not a name: use 1 to 64 of the characters A-Z a-z 0-9 "
     ". _ -"},
    {BETWEEN, GROUPS("{name: a, sites: [eu]}", "{name: a, sites: [west]}"),
     "6:51: between.groups[1].name: groups[0] is called 'a' too: names have to differ"},
    {BETWEEN, GROUPS("{name: a, sites: [eu]}", "{name: b, sites: [wset]}"),
     "6:62: between.groups[1].sites[0]: there is no site 'wset': did you mean 'west'?"},
    {BETWEEN, GROUPS("{name: a, sites: [eu]}", "{name: b, sites: [west, eu]}"),
     "6:68: between.groups[1].sites[1]: site 'eu' is in group 'a' already: a site is in one group"},
    {BETWEEN, "between: {groups: [{name: a, sites: [eu]}]}",
     "6:19: between.groups: site 'west' is in no group: add it to one"},
    {BETWEEN, GROUPS("{name: a, sites: [eu], hubs: eu}", "{name: b, sites: [west]}"),
     "6:49: between.groups[0].hubs: has to be a mapping (group: site), but is a text"},
    {BETWEEN, GROUPS("{name: a, sites: [eu], hubs: {c: eu}}", "{name: b, sites: [west]}"),
     "6:50: between.groups[0].hubs: there is no group 'c': the groups are a, b"},
    {BETWEEN, GROUPS("{name: a, sites: [eu], hubs: {a: eu}}", "{name: b, sites: [west]}"),
     "6:50: between.groups[0].hubs: 'a' is this group: name hubs for the others"},
    {BETWEEN, GROUPS("{name: a, sites: [eu], hubs: {b: []}}", "{name: b, sites: [west]}"),
     "6:53: between.groups[0].hubs: has to be the name of a site, or a list of them"},
    {BETWEEN, GROUPS("{name: a, sites: [eu], hubs: {b: {x: eu}}}", "{name: b, sites: [west]}"),
     "6:53: between.groups[0].hubs: has to be the name of a site, or a list of them"},
    {BETWEEN, GROUPS("{name: a, sites: [eu], hubs: {b: [[eu]]}}", "{name: b, sites: [west]}"),
     "6:54: between.groups[0].hubs: a hub has to be the name of a site, but is a list"},
    {BETWEEN, GROUPS("{name: a, sites: [eu], hubs: {b: ue}}", "{name: b, sites: [west]}"),
     "6:53: between.groups[0].hubs: there is no site 'ue': did you mean 'eu'?"},
    {BETWEEN, GROUPS("{name: a, sites: [eu], hubs: {b: west}}", "{name: b, sites: [west]}"),
     "6:53: between.groups[0].hubs: site 'west' is in group 'b': a hub is a site of its own group, "
     "'a'"},
    {BETWEEN, GROUPS("{name: a, sites: [eu], hubs: {b: [eu, eu]}}", "{name: b, sites: [west]}"),
     "6:58: between.groups[0].hubs: 'eu' is named twice: leave one out"},
    {BETWEEN, "machine: CPU",
     "6:10: machine: 'CPU' is not a class of machines: use 1 to 16 of the characters a-z 0-9 -"},
    {BETWEEN, "machine: cpu",
     "6:10: machine: region us has no price for machines of class 'cpu': add it to the "
     "usd_per_hour of that region, or leave 'machine' out"},
    {BETWEEN, "machine: gpu",
     "6:10: machine: needs prices, and the link from eu to us has none: add a price (dollars per "
     "gigabyte, 0 if it is free) to it"},
    {BETWEEN, "budget: {}", "6:9: budget: write max_usd, max_gb or both"},
    {BETWEEN, "budget: {max_usd: 1}",
     "6:19: budget.max_usd: needs prices, and the link from eu to us has none: add a price "
     "(dollars per gigabyte, 0 if it is free) to it"},
    {BETWEEN, "budget: {max_gb: 0}",
     "6:18: budget.max_gb: 0 is out of range: write a number from 1e-06 to 1e+09"},
    {BETWEEN, "budget: {max_usd: 2e9}",
     "6:19: budget.max_usd: 2e+09 is out of range: write a number from 1e-06 to 1e+09"},
    {STOP, STOP "\nfaults: [at 1s kill site wset for 1s]",
     "9:10: faults[0]: there is no site 'wset': did you mean 'west'?"},
};

static const char good[] = WHOLE;
static const char many[] = MANY;

static void spoil(const char *whole, const struct wrong *w, char *out, size_t size)
{
    const char *at = strstr(whole, w->part);

    assert_non_null(at);
    assert_null(strstr(at + 1, w->part));
    (void)snprintf(out, size, "%.*s%s%s", (int)(at - whole), whole, w->by, at + strlen(w->part));
}

static void test_the_good_files_are_good(void **state)
{
    static const char *const texts[] = {good, many};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct run_file *f = NULL;
        struct err_text why = {""};

        assert_int_equal(run_file_parse("r.yaml", NULL, texts[i], strlen(texts[i]), &f, &why), OK);
        run_file_free(f);
    }
}

static void expect_wrong(const char *whole, const struct wrong *w)
{
    char spoiled[2048], expected[ERR_TEXT_BYTES];
    struct run_file *f = NULL;
    struct err_text why = {""};
    enum err rc;

    spoil(whole, w, spoiled, sizeof(spoiled));
    rc = run_file_parse("r.yaml", ".", spoiled, strlen(spoiled), &f, &why);
    (void)snprintf(expected, sizeof(expected), "r.yaml:%s", w->complaint);
    assert_string_equal(why.text, expected);
    assert_true(rc == ERR_MALFORMED || rc == ERR_TOO_BIG);
    assert_null(f);
}

static void test_every_mistake_has_its_words_and_its_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
        expect_wrong(good, &wrongs[i]);
    }
}

static void test_every_mistake_with_sites_has_its_words_and_its_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(wrong_sites) / sizeof(wrong_sites[0]); i++) {
        expect_wrong(many, &wrong_sites[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_good_files_are_good),
        cmocka_unit_test(test_every_mistake_has_its_words_and_its_place),
        cmocka_unit_test(test_every_mistake_with_sites_has_its_words_and_its_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
