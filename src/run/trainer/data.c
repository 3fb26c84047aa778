/* Tables: what a step or an evaluation sees of them, and how what it wrote goes out. */

#include "base/mem.h"
#include "run/trainer/state.h"

#include <math.h>
#include <string.h>

enum { TRAINER_BLOCK = 1 << 30 }; /* Changes that are counted at once. */

const float run_parts[RUN_PARTS] = {0.0001F, 0.001F, 0.01F, 0.05F, 0.1F};
const char *const run_part_names[RUN_PARTS] = {"0.01%", "0.1%", "1%", "5%", "10%"};

enum err run_trainer_schemas(struct run_trainer *t, struct err_text *text)
{
    struct app_table tables[APP_TABLES_MAX];
    enum err rc = OK;

    memset(tables, 0, sizeof(tables));
    t->tables_count = t->config.app->ops->tables(t->config.app, tables);
    CHECK(t->tables_count >= 1 && t->tables_count <= APP_TABLES_MAX);
    for (uint32_t i = 0; i < t->tables_count && rc == OK; i++) {
        struct table_schema_text in = {.name = tables[i].name,
                                       .rows = tables[i].rows,
                                       .width = tables[i].width,
                                       .init = tables[i].init,
                                       .apply = tables[i].apply,
                                       .combine = tables[i].combine,
                                       .chunk = t->config.app->chunk};

        t->tables[i].is = tables[i];
        rc = table_schema_parse(&in, &t->tables[i].schema, text);
    }
    return rc;
}

void run_trainer_free_tables(struct run_trainer *t)
{
    for (uint32_t i = 0; i < APP_TABLES_MAX; i++) {
        struct trainer_table *table = &t->tables[i];

        if (table->whole != table->values) {
            mem_free(table->whole);
        }
        mem_free(table->values);
        mem_free(table->update);
        mem_free(table->rows);
    }
}

/* Counters of 32 bits: compilers then take several changes at once. */
static void trainer_weigh_block(const float *update, const float *values, uint32_t count,
                                float rate, uint64_t *large)
{
    uint32_t sums[RUN_PARTS] = {0};

    for (uint32_t i = 0; i < count; i++) {
        float change = rate * update[i];
        float size = fabsf(change), value = fabsf(values[i] + change);

        for (uint32_t k = 0; k < RUN_PARTS; k++) {
            sums[k] += size > run_parts[k] * value;
        }
    }
    for (uint32_t k = 0; k < RUN_PARTS; k++) {
        large[k] += sums[k];
    }
}

/* Gaia's measure (its figure 5): the update by the value that it leads to. What an update does to
 * others' momentum is not seen here. */
static void trainer_weigh_table(struct run_trainer *t, const struct trainer_table *table,
                                const struct app_view *v)
{
    const struct table_schema *s = &table->schema;
    uint64_t count = (v->rows != NULL ? v->row_count : s->rows) * s->width;
    bool mean = s->combine != TABLE_SUM && t->config.workers > 0;
    float rate = (s->apply.kind == TABLE_ADD ? 1 : -table_apply_rate(&s->apply, t->clock)) /
                 (mean ? (float)t->config.workers : 1);

    t->now.elements += count;
    for (uint64_t first = 0; first < count; first += TRAINER_BLOCK) {
        uint64_t left = count - first;

        trainer_weigh_block(v->update + first, v->values + first,
                            (uint32_t)(left < TRAINER_BLOCK ? left : TRAINER_BLOCK), rate,
                            t->now.large);
    }
}

void run_trainer_weigh(struct run_trainer *t)
{
    for (uint32_t i = 0; i < t->tables_count; i++) {
        if (t->tables[i].schema.apply.kind != TABLE_ADAGRAD && t->views[i].update != NULL) {
            trainer_weigh_table(t, &t->tables[i], &t->views[i]);
        }
    }
}

/* Recording. */

enum err run_trainer_open_recorder(struct run_trainer *t, struct err_text *text)
{
    struct app_table tables[APP_TABLES_MAX];
    enum err rc;

    if (!run_recording_wants(t->config.recording, t->config.number)) {
        return OK;
    }
    for (uint32_t i = 0; i < t->tables_count; i++) {
        tables[i] = t->tables[i].is;
    }
    rc = run_recorder_create(t->config.recording, t->config.number, tables, t->tables_count,
                             &t->recorder, text);
    if (rc == ERR_FULL) { /* Others may have trained for long: that is worth more. */
        return err_text_set(&t->record_text, OK, "no updates are recorded: %.460s", text->text);
    }
    return rc;
}

void run_trainer_record(struct run_trainer *t)
{
    if (t->recorder != NULL && t->rc == OK) {
        (void)!run_recorder_write(t->recorder, t->clock, t->views, &t->record_text);
    }
}

/* Reading. */

/* Room for @count elements that are seen and written. */
static enum err trainer_reserve(struct trainer_table *table, size_t count)
{
    float *values, *update;

    if (count <= table->capacity) {
        return OK;
    }
    values = mem_calloc(count, sizeof(float));
    update = mem_calloc(count, sizeof(float));
    if (values == NULL || update == NULL) {
        mem_free(values);
        mem_free(update);
        return ERR_NOMEM;
    }
    if (table->whole == table->values) {
        table->whole = NULL;
    }
    mem_free(table->values);
    mem_free(table->update);
    table->values = values;
    table->update = update;
    table->capacity = count;
    return OK;
}

/* Which rows the step wants. They are copied: the job's own list is good until the next call. */
static enum err trainer_rows(struct run_trainer *t, uint32_t index, struct app_view *view)
{
    struct trainer_table *table = &t->tables[index];
    const uint32_t *rows = NULL;
    uint32_t count = 0;
    enum err rc = t->config.app->ops->rows(t->config.app, t->clock, index, &rows, &count);

    if (rc == OK && count > table->rows_capacity) {
        mem_free(table->rows);
        table->rows = mem_calloc(count, sizeof(uint32_t));
        table->rows_capacity = table->rows == NULL ? 0 : count;
        rc = table->rows == NULL ? ERR_NOMEM : OK;
    }
    if (rc == OK && count > 0) {
        memcpy(table->rows, rows, count * sizeof(uint32_t));
    }
    view->rows = table->rows;
    view->row_count = count;
    return rc;
}

/* What the step will see and write: which part, and room for it. */
static enum err trainer_prepare(struct run_trainer *t, uint32_t index)
{
    struct trainer_table *table = &t->tables[index];
    struct app_view *view = &t->views[index];
    size_t count = table_elements(&table->schema);
    enum err rc = OK;

    *view = (struct app_view){.row_count = (uint32_t)table->is.rows};
    if (table->is.access == APP_ROWS) {
        rc = trainer_rows(t, index, view);
        count = (size_t)view->row_count * table->is.width;
    }
    if (rc == OK) {
        rc = trainer_reserve(table, count);
    }
    if (rc == OK) {
        view->values = table->values;
        view->update = table->update;
        if (count > 0) {
            memset(table->update, 0, count * sizeof(float));
        }
    }
    return rc;
}

void run_trainer_read(struct run_trainer *t)
{
    enum err rc = OK;

    t->now = (struct run_clock){.clock = t->clock};
    t->rebases = node_worker_rebases(t->config.node);
    memset(t->ops, 0, sizeof(t->ops));
    for (uint32_t i = 0; i < t->tables_count && rc == OK; i++) {
        rc = trainer_prepare(t, i);
    }
    if (rc == ERR_NOMEM) {
        run_trainer_starved(t);
        return;
    }
    if (rc != OK) {
        run_trainer_end(t, rc, NULL);
        return;
    }
    for (uint32_t i = 0; i < t->tables_count; i++) {
        struct trainer_table *table = &t->tables[i];

        if (table->is.access == APP_DENSE) {
            node_worker_read(t->config.node, table->id, 0, table_elements(&table->schema),
                             table->values, run_trainer_op(t, i));
        } else if (t->views[i].row_count > 0) {
            node_worker_read_rows(t->config.node, table->id, t->views[i].rows,
                                  t->views[i].row_count, table->values, run_trainer_op(t, i));
        }
    }
}

/* All of every table, for an evaluation. */
void run_trainer_survey(struct run_trainer *t)
{
    for (uint32_t i = 0; i < t->tables_count; i++) {
        struct trainer_table *table = &t->tables[i];

        if (table->whole == NULL) {
            table->whole = table->is.access == APP_DENSE
                               ? table->values
                               : mem_calloc(table_elements(&table->schema), sizeof(float));
        }
        if (table->whole == NULL) {
            run_trainer_starved(t);
            return;
        }
    }
    memset(t->ops, 0, sizeof(t->ops));
    for (uint32_t i = 0; i < t->tables_count; i++) {
        struct trainer_table *table = &t->tables[i];

        t->views[i] =
            (struct app_view){.row_count = (uint32_t)table->is.rows, .values = table->whole};
        node_worker_read(t->config.node, table->id, 0, table_elements(&table->schema), table->whole,
                         run_trainer_op(t, i));
    }
}

/* Sending. */

/* The next chunk of a table whose push failed in the middle. */
static void trainer_send_piece(struct run_trainer *t)
{
    struct trainer_table *table = &t->tables[t->cursor];
    uint64_t first = (uint64_t)t->chunk * table_chunk_elements(&table->schema);

    node_worker_push(t->config.node, table->id, first, table_chunk_size(&table->schema, t->chunk),
                     table->update + first, t->step.samples, run_trainer_op(t, 0));
}

/* One table after the other, each where the last one ended. */
void run_trainer_send(struct run_trainer *t)
{
    enum err rc = OK;

    while (t->cursor < t->tables_count && rc == OK) {
        struct trainer_table *table = &t->tables[t->cursor];

        if (table->is.access == APP_DENSE) {
            if (t->pieces) {
                trainer_send_piece(t);
            } else {
                node_worker_push(t->config.node, table->id, 0, table_elements(&table->schema),
                                 table->update, t->step.samples, run_trainer_op(t, 0));
            }
            return;
        }
        if (t->views[t->cursor].row_count > 0) {
            rc = node_worker_update_rows(t->config.node, table->id, t->views[t->cursor].rows,
                                         t->views[t->cursor].row_count, table->update);
        }
        t->cursor += rc == OK;
    }
    if (rc == ERR_NOMEM) {
        run_trainer_starved(t);
    } else if (rc == ERR_AGAIN) {
        run_trainer_again(t);
    } else if (rc != OK) {
        run_trainer_end(t, rc, "an update was not taken");
    }
}

/* A push is done, one way or the other; or there is nothing more to send. */
void run_trainer_sent(struct run_trainer *t)
{
    struct trainer_table *table = &t->tables[t->cursor];
    enum err rc = t->ops[0].rc;

    if (t->cursor == t->tables_count) {
        run_trainer_enter(t, TRAINER_ENDING);
        return;
    }
    if (rc == ERR_NOMEM) {
        /* Some chunks may have gone out: those that have will be refused the second time. */
        t->pieces = true;
        run_trainer_starved(t);
        return;
    }
    t->starved = 0;
    if (rc != OK && !(rc == ERR_EXISTS && t->pieces)) {
        run_trainer_end(t, rc, t->ops[0].text.text);
        return;
    }
    if (!t->pieces || ++t->chunk == table_chunk_count(&table->schema)) {
        t->pieces = false;
        t->chunk = 0;
        t->cursor++;
    }
    run_trainer_enter(t, TRAINER_SENDING);
}
