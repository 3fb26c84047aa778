#include "emu/lab/request.h"

#include "base/mem.h"
#include "base/units.h"
#include "topo/file.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static enum err request_number(const json_t *value, const char *what, json_int_t min,
                               json_int_t max, uint32_t *out, struct err_text *text)
{
    json_int_t number = json_integer_value(value);

    if (!json_is_integer(value) || number < min || number > max) {
        return err_text_set(text, ERR_INVALID,
                            "%s: a whole number from %" JSON_INTEGER_FORMAT
                            " to %" JSON_INTEGER_FORMAT " is wanted",
                            what, min, max);
    }
    *out = (uint32_t)number;
    return OK;
}

static enum err request_hosts(const json_t *value, uint32_t regions, uint32_t *hosts,
                              struct err_text *text)
{
    uint32_t all = 1;
    enum err rc = OK;

    if (value != NULL && !json_is_array(value)) {
        rc = request_number(value, "hosts", 0, LAB_HOSTS_MAX, &all, text);
    } else if (value != NULL && json_array_size(value) != regions) {
        rc = err_text_set(text, ERR_INVALID, "hosts: %zu counts for %u regions",
                          json_array_size(value), regions);
    }
    for (uint32_t i = 0; rc == OK && i < regions; i++) {
        hosts[i] = all;
        if (json_is_array(value)) {
            rc = request_number(json_array_get(value, i), "hosts", 0, LAB_HOSTS_MAX, &hosts[i],
                                text);
        }
    }
    return rc;
}

static enum err request_card(const json_t *value, struct lab_plan *plan, struct err_text *text)
{
    struct err_text why = {""};
    uint64_t rate = 0;

    if (value == NULL) {
        return OK;
    }
    if (!json_is_string(value) || units_rate_parse(json_string_value(value), &rate, &why) != OK) {
        return err_text_set(text, ERR_INVALID, "card: a rate such as \"100mbit\" is wanted");
    }
    return lab_plan_set_card(plan, rate, text);
}

static enum err request_topology(const json_t *value, struct topo **topo_out, struct err_text *text)
{
    char *chars;
    enum err rc;

    if (!json_is_object(value)) {
        return err_text_set(text, ERR_MALFORMED, "topology: an object is wanted");
    }
    chars = json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (chars == NULL) {
        return err_text_set(text, ERR_NOMEM, "no memory for a topology");
    }
    rc = topo_file_parse("topology", chars, strlen(chars), topo_out, text);
    free(chars);
    return rc;
}

static enum err request_keys(const json_t *root, struct err_text *text)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)root, key, value)
    {
        if (strcmp(key, "topology") != 0 && strcmp(key, "hosts") != 0 && strcmp(key, "mtu") != 0 &&
            strcmp(key, "card") != 0) {
            return err_text_set(text, ERR_MALFORMED,
                                "a key that is not known: there are topology, hosts, mtu and card");
        }
    }
    return OK;
}

static enum err request_read(const json_t *root, struct lab_plan **plan_out, struct err_text *text)
{
    const json_t *mtu_value = json_object_get(root, "mtu");
    uint32_t hosts[LAB_REGIONS_MAX];
    uint32_t mtu = LAB_MTU;
    struct lab_plan *plan = NULL;
    struct topo *topo = NULL;
    enum err rc = request_keys(root, text);

    if (rc == OK) {
        rc = request_topology(json_object_get(root, "topology"), &topo, text);
    }
    if (rc == OK && mtu_value != NULL) {
        rc = request_number(mtu_value, "mtu", LAB_MTU_MIN, LAB_MTU_MAX, &mtu, text);
    }
    if (rc == OK) {
        rc = request_hosts(json_object_get(root, "hosts"), topo_regions(topo), hosts, text);
    }
    if (rc == OK) {
        rc = lab_plan_create(topo, hosts, mtu, &plan, text);
    }
    if (rc == OK) {
        rc = request_card(json_object_get(root, "card"), plan, text);
    }
    topo_destroy(topo);
    if (rc != OK) {
        mem_free(plan);
        return rc;
    }
    *plan_out = plan;
    return OK;
}

enum err lab_request_parse(const char *line, size_t size, struct lab_plan **plan_out,
                           struct err_text *text)
{
    json_t *root;
    json_error_t why;
    enum err rc;

    if (size > LAB_REQUEST_BYTES_MAX) {
        return err_text_set(text, ERR_TOO_BIG, "the request is larger than %d bytes",
                            LAB_REQUEST_BYTES_MAX);
    }
    root = json_loadb(line, size, JSON_REJECT_DUPLICATES, &why);
    if (!json_is_object(root)) {
        json_decref(root);
        return err_text_set(text, ERR_MALFORMED,
                            "the request is not an object of JSON on one line, as in "
                            "{\"topology\": {...}, \"hosts\": [1, 1]}");
    }
    rc = request_read(root, plan_out, text);
    json_decref(root);
    return rc;
}

void lab_request_print(const struct topo *topo, uint32_t hosts, uint32_t mtu, struct text *out)
{
    size_t begin;

    text_add(out, "{\"topology\": ");
    begin = out->size;
    topo_print(topo, 0, out);
    /* No string of a topology holds a line break. */
    for (char *c = out->failed ? NULL : out->chars + begin; c != NULL && *c != '\0'; c++) {
        *c = *c == '\n' ? ' ' : *c;
    }
    text_addf(out, ", \"hosts\": %u, \"mtu\": %u}\n", hosts, mtu);
}
