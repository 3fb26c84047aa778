/* Fuzz the JSON of words: what is taken from a neighbour is possible, and is passed on as it
 * came. The first byte says how many sites there are. */

#include "node/central/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_word(const struct links_word *word, uint32_t sites)
{
    json_t *said = node_word_to_json(word), *again;
    struct links_word back;

    CHECK(word->site < sites && word->number > 0 && word->count < sites);
    CHECK(word->since < word->number);
    CHECK(word->epoch <= word->top && word->top <= LINKS_EPOCH_LAST);
    for (uint32_t i = 0; i < word->count; i++) {
        CHECK(word->entries[i].neighbour < sites && word->entries[i].neighbour != word->site);
        CHECK(word->entries[i].bytes_per_s <= LINKS_RATE_MAX);
    }
    CHECK(node_word_from_json(said, sites, &back));
    again = node_word_to_json(&back);
    CHECK(json_equal(said, again));
    json_decref(again);
    json_decref(said);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct links_word word;
    uint32_t sites;
    json_t *fields;

    if (size == 0) {
        return 0;
    }
    sites = 1 + data[0] % LINKS_SITES_MAX;
    fields = json_loadb((const char *)data + 1, size - 1, JSON_REJECT_DUPLICATES, NULL);
    if (node_word_from_json(fields, sites, &word)) {
        fuzz_word(&word, sites);
    }
    json_decref(fields);
    return 0;
}
