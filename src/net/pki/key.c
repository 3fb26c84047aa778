/* Private keys: made, read and written so that no core dump of a process has one. Inside OpenSSL
 * they live on its secure heap, which is left out of dumps and locked where the system allows; what
 * we read and write is zeroed before it is freed. OpenSSL's own readers and writers of PEM leave
 * copies in freed memory, so the little of it that an Ed25519 key needs is done here. */

#include "net/pki/file.h"
#include "net/pki/x509.h"

#include "base/log.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <string.h>

#define KEY_BEGIN "-----BEGIN PRIVATE KEY-----\n"
#define KEY_END "-----END PRIVATE KEY-----\n"

enum {
    KEY_RAW_BYTES = 32,
    KEY_DER_BYTES = 16 + KEY_RAW_BYTES,
    /* Handshakes keep their temporary keys there too, 64 bytes or so for each connection. */
    KEY_HEAP_BYTES = 4 * 1024 * 1024,
    KEY_HEAP_LEAST_BYTES = 32,
};

/* PKCS #8 of an Ed25519 key (RFC 8410), up to the key itself. */
static const uint8_t key_der_start[KEY_DER_BYTES - KEY_RAW_BYTES] = {
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20};

/* The secure heap. */

static CRYPTO_ONCE key_heap_once = CRYPTO_ONCE_STATIC_INIT;

static void key_heap_begin(void)
{
    /* Our user may have made one. */
    if (CRYPTO_secure_malloc_initialized() == 0 &&
        CRYPTO_secure_malloc_init(KEY_HEAP_BYTES, KEY_HEAP_LEAST_BYTES) == 0) {
        LOG_WRN("net", "there is no secure memory: a core dump would have the private key");
    }
}

static void key_heap(void)
{
    (void)CRYPTO_THREAD_run_once(&key_heap_once, key_heap_begin);
}

/* Making. */

enum err pki_x509_key(EVP_PKEY **key_out, struct err_text *text)
{
    EVP_PKEY *key;

    key_heap();
    key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    if (key == NULL) {
        return pki_x509_fault(text, ERR_IO, "cannot make an Ed25519 key");
    }
    *key_out = key;
    return OK;
}

/* Writing. */

enum err pki_x509_key_pem(EVP_PKEY *key, struct pki_pem *out, struct err_text *text)
{
    uint8_t der[KEY_DER_BYTES];
    size_t size = KEY_RAW_BYTES;
    enum err rc = OK;

    memcpy(der, key_der_start, sizeof(key_der_start));
    if (EVP_PKEY_get_raw_private_key(key, der + sizeof(key_der_start), &size) != 1 ||
        size != KEY_RAW_BYTES) {
        rc = pki_x509_fault(text, ERR_NOMEM, "cannot write a key");
    } else {
        size = sizeof(KEY_BEGIN) - 1;
        memcpy(out->chars, KEY_BEGIN, size);
        size += (size_t)EVP_EncodeBlock((uint8_t *)out->chars + size, der, sizeof(der));
        out->chars[size++] = '\n';
        memcpy(out->chars + size, KEY_END, sizeof(KEY_END));
        out->size = size + sizeof(KEY_END) - 1;
    }
    OPENSSL_cleanse(der, sizeof(der));
    return rc;
}

/* Reading. */

/* Decode the base64 of the first PEM block of a private key to @der, @size long like the text.
 * Returns the length, at most two more than there is; 0: there is no such block. */
static size_t key_der(const char *chars, size_t size, uint8_t *der)
{
    const char *from = memmem(chars, size, KEY_BEGIN, sizeof(KEY_BEGIN) - 2);
    const char *to;
    size_t digits = 0;
    int length;

    if (from == NULL) {
        return 0;
    }
    from += sizeof(KEY_BEGIN) - 2;
    to = memmem(from, size - (size_t)(from - chars), KEY_END, sizeof(KEY_END) - 2);
    for (; to != NULL && from < to; from++) {
        if (strchr("\r\n\t ", *from) == NULL) {
            der[digits++] = (uint8_t)*from;
        }
    }
    /* In place: three bytes out for four in, and it reads before it writes. */
    length = digits == 0 ? 0 : EVP_DecodeBlock(der, der, (int)digits);
    return length <= 0 ? 0 : (size_t)length;
}

/* OpenSSL puts a key that it is given as bytes on the ordinary heap, and zeroes it when it is
 * freed; the copy of such a key is on the secure heap. */
static EVP_PKEY *key_from_raw(const uint8_t *raw)
{
    EVP_PKEY *given = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, raw, KEY_RAW_BYTES);
    EVP_PKEY *key = given == NULL ? NULL : EVP_PKEY_dup(given);

    EVP_PKEY_free(given);
    return key;
}

static enum err key_from_der(const uint8_t *der, size_t size, EVP_PKEY **key_out,
                             struct err_text *text)
{
    PKCS8_PRIV_KEY_INFO *info = d2i_PKCS8_PRIV_KEY_INFO(NULL, &der, (long)size);
    const ASN1_OBJECT *algorithm = NULL;
    const uint8_t *inner = NULL;
    int inner_size = 0;
    EVP_PKEY *key = NULL;
    enum err rc = ERR_MALFORMED;

    if (info != NULL && PKCS8_pkey_get0(&algorithm, &inner, &inner_size, NULL, info) == 1) {
        if (OBJ_obj2nid(algorithm) != NID_ED25519) {
            rc = ERR_REFUSED;
        } else if (inner_size == 2 + KEY_RAW_BYTES && inner[0] == 0x04 &&
                   inner[1] == KEY_RAW_BYTES) {
            key = key_from_raw(inner + 2);
        }
    }
    PKCS8_PRIV_KEY_INFO_free(info); /* Zeroes the key in it. */
    if (key != NULL) {
        *key_out = key;
        return OK;
    }
    ERR_clear_error();
    return rc == ERR_REFUSED
               ? err_text_set(text, rc, "not an Ed25519 key")
               : err_text_set(text, rc, "not a private key in PEM without passphrase");
}

enum err pki_key_decode(const char *chars, size_t size, EVP_PKEY **key_out, struct err_text *text)
{
    uint8_t *der;
    size_t der_size;
    enum err rc;

    if (size == 0 || size > PKI_FILE_BYTES_MAX) {
        return err_text_set(text, ERR_MALFORMED, "not a private key in PEM without passphrase");
    }
    key_heap();
    der = OPENSSL_secure_zalloc(size);
    if (der == NULL) {
        return pki_x509_fault(text, ERR_NOMEM, "cannot read a key");
    }
    der_size = key_der(chars, size, der);
    rc = der_size == 0
             ? err_text_set(text, ERR_MALFORMED, "not a private key in PEM without passphrase")
             : key_from_der(der, der_size, key_out, text);
    OPENSSL_secure_clear_free(der, size);
    ERR_clear_error();
    return rc;
}

enum err pki_key_read(const char *path, EVP_PKEY **key_out, struct err_text *text)
{
    struct pki_bytes bytes = {0};
    struct err_text why = {0};
    enum err rc = pki_file_read(path, PKI_FILE_BYTES_MAX, &bytes, text);

    if (rc != OK) {
        return rc;
    }
    if ((bytes.mode & 077) != 0) {
        rc = err_text_set(text, ERR_REFUSED,
                          "the key %.300s can be read by others (mode %04o): run chmod 600 on it",
                          path, (unsigned int)bytes.mode);
    } else {
        rc = pki_key_decode(bytes.chars, bytes.size, key_out, &why);
        if (rc != OK) {
            (void)err_text_set(text, rc, "cannot use %.300s: %.160s", path, why.text);
        }
    }
    pki_bytes_deinit(&bytes);
    return rc;
}
