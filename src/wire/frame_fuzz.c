/* Fuzz the header, as it is and with its check put right. */

#include "wire/fuzzing.h"

static void decode(const uint8_t *bytes)
{
    enum wire_reason reason = WIRE_REASON_COUNT;
    uint8_t encoded[WIRE_HEADER_BYTES];
    struct wire_header header;
    enum err rc = wire_header_decode(bytes, &header, &reason);

    CHECK((rc == OK) == (reason == WIRE_REASON_NONE));
    if (rc == OK) {
        CHECK(header.body_bytes <= wire_type_info(header.type)->body_bytes_max);
        wire_header_encode(&header, encoded);
        CHECK(memcmp(encoded, bytes, WIRE_HEADER_BYTES) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t bytes[WIRE_HEADER_BYTES];

    if (size < WIRE_HEADER_BYTES) {
        return 0;
    }
    decode(data);
    memcpy(bytes, data, sizeof(bytes));
    bytes_store64(bytes + 56, hash_bytes(bytes, 56));
    decode(bytes);
    return 0;
}
