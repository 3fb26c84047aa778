/* Fit one line to points of several processes, which stay where they are. See README.md. */

#include <stdio.h>
#include <stdlib.h>
#include <strait.h>

enum { POINTS = 1000, CLOCKS = 200 };

static const char rule[] = "{\"apply\": \"sgd lr=0.5\", \"combine\": \"mean\"}";
static strait *worker;

/* If a call failed, say why, and leave. */
static void must(const char *what, int code)
{
    if (code < 0) {
        fprintf(stderr, "linear: %s: %s (%s)\n", what, strait_last_error(NULL),
                strait_error_name(code));
        strait_leave(worker, 2);
        strait_close(worker);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    static float x[POINTS], y[POINTS];
    struct strait_state info = {.size = sizeof(info)};
    float line[2], gradient[2], error;
    uint64_t clock = 0;
    int table;

    if (argc != 2) {
        fprintf(stderr, "usage: linear '{\"join\": \"tcp://HOST:PORT\", \"insecure\": true}'\n");
        return 2;
    }
    must("open", strait_open(argv[1], &worker));
    must("join", strait_join(worker, 60, &clock));
    must("table", strait_table_create(worker, "line", 1, 2, rule, 60, &table));
    must("info", strait_info(worker, &info));
    srand(info.rank + 1); /* Points of its own: y = 3 x - 2, and noise. */
    for (int i = 0; i < POINTS; i++) {
        x[i] = 2 * (float)rand() / (float)RAND_MAX - 1;
        y[i] = 3 * x[i] - 2 + 0.2f * ((float)rand() / (float)RAND_MAX - 0.5f);
    }
    while (clock <= CLOCKS) {
        must("read", strait_read(worker, table, 0, 2, line, 60));
        gradient[0] = gradient[1] = 0;
        for (int i = 0; i < POINTS; i++) {
            error = line[0] * x[i] + line[1] - y[i];
            gradient[0] += error * x[i] / POINTS;
            gradient[1] += error / POINTS;
        }
        must("update", strait_update(worker, table, 0, 2, gradient));
        must("clock", strait_clock(worker, POINTS, 60, &clock));
    }
    must("read", strait_read(worker, table, 0, 2, line, 60));
    printf("worker %u: y = %.2f x %+.2f\n", info.rank, line[0], line[1]);
    must("leave", strait_leave(worker, 60));
    return strait_close(worker) == STRAIT_OK ? 0 : 1;
}
