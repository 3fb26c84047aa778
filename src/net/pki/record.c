/* The record of issued certificates, as lines of JSON. */

#include "net/pki/record.h"

#include "net/pki/file.h"
#include "net/pki/x509.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { RECORD_LINE_BYTES_MAX = 1024 };

enum err pki_record_from_cert(const X509 *cert, struct pki_record *out, struct err_text *text)
{
    struct pki_description description;
    struct pki_record record = {0};
    enum err rc = pki_cert_describe(cert, &description, text);

    if (rc != OK) {
        return rc;
    }
    CHECK(description.identified);
    record.identity = description.identity;
    (void)strcpy(record.serial, description.serial);
    (void)strcpy(record.fingerprint, description.fingerprint);
    record.not_before_s = description.not_before_s;
    record.not_after_s = description.not_after_s;
    *out = record;
    return OK;
}

enum err pki_record_append(const char *path, const struct pki_record *record, struct err_text *text)
{
    char identity[PKI_IDENTITY_TEXT_BYTES];
    char line[RECORD_LINE_BYTES_MAX];
    /* No field has a character that JSON would escape. */
    int size = snprintf(line, sizeof(line),
                        "{\"serial\":\"%s\",\"identity\":\"%s\",\"not_before\":%lld,"
                        "\"not_after\":%lld,\"fingerprint\":\"%s\"}\n",
                        record->serial, pki_identity_format(&record->identity, identity),
                        (long long)record->not_before_s, (long long)record->not_after_s,
                        record->fingerprint);

    CHECK(size > 0 && size < RECORD_LINE_BYTES_MAX);
    return pki_file_append(path, line, (size_t)size, text);
}

/* Copy a text that fits and is hexadecimal. */
static bool record_hex(const char *from, char *out, size_t size)
{
    size_t length = strnlen(from, size);

    if (length == 0 || length >= size || strspn(from, "0123456789abcdef") != length) {
        return false;
    }
    memcpy(out, from, length + 1);
    return true;
}

static bool record_parse(const char *line, size_t size, struct pki_record *out)
{
    struct pki_record record = {0};
    const char *serial, *identity, *fingerprint;
    json_int_t from, to;
    json_t *root = json_loadb(line, size, JSON_REJECT_DUPLICATES, NULL);
    bool good =
        root != NULL &&
        json_unpack(root, "{s:s, s:s, s:I, s:I, s:s}", "serial", &serial, "identity", &identity,
                    "not_before", &from, "not_after", &to, "fingerprint", &fingerprint) == 0 &&
        record_hex(serial, record.serial, sizeof(record.serial)) &&
        record_hex(fingerprint, record.fingerprint, sizeof(record.fingerprint)) &&
        pki_identity_parse(identity, &record.identity, NULL) == OK;

    if (good) {
        record.not_before_s = from;
        record.not_after_s = to;
        *out = record;
    }
    json_decref(root);
    return good;
}

enum err pki_record_walk(const char *path,
                         enum err (*each)(const struct pki_record *record, void *user), void *user,
                         struct err_text *text)
{
    char line[RECORD_LINE_BYTES_MAX];
    uint32_t number = 0;
    enum err rc = OK;
    FILE *file = fopen(path, "re");

    if (file == NULL) {
        return pki_file_fault(text, "read", path);
    }
    while (rc == OK && fgets(line, sizeof(line), file) != NULL) {
        struct pki_record record;
        size_t size = strlen(line);

        number++;
        if (size > 0 && line[size - 1] != '\n' && feof(file)) {
            break;
        }
        if (record_parse(line, size, &record)) {
            rc = each(&record, user);
        } else {
            rc = err_text_set(text, ERR_MALFORMED,
                              "%s line %u is damaged: restore the file from a backup, or remove "
                              "that line",
                              path, number);
        }
    }
    if (rc == OK && ferror(file)) {
        rc = pki_file_fault(text, "read", path);
    }
    (void)fclose(file);
    return rc;
}
