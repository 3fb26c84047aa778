/* Writes what a member needs to a folder: its certificate, its key and the authority's certificate.
 * All three are on the disk under other names before the first gets its own. */

#include "net/pki/bundle.h"

#include "net/pki/file.h"
#include "net/pki/x509.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct bundle_paths {
    char cert[PKI_PATH_BYTES];
    char key[PKI_PATH_BYTES];
    char ca[PKI_PATH_BYTES];
};

static enum err bundle_paths(const char *dir, const struct pki_identity *identity,
                             struct bundle_paths *out, struct err_text *text)
{
    char leaf[LIMIT_NAME_BYTES + 8];
    enum err rc;

    CHECK(pki_name_valid(identity->name));
    (void)snprintf(leaf, sizeof(leaf), "%s.crt", identity->name);
    rc = pki_path(dir, leaf, out->cert, text);
    (void)snprintf(leaf, sizeof(leaf), "%s.key", identity->name);
    if (rc == OK) {
        rc = pki_path(dir, leaf, out->key, text);
    }
    if (rc == OK) {
        rc = pki_path(dir, "ca.crt", out->ca, text);
    }
    return rc;
}

/* Tell if the authority's certificate is in its place already. */
static enum err bundle_ca_there(const char *path, const struct pki_pem *ca, bool *there_out,
                                struct err_text *text)
{
    struct pki_bytes bytes = {0};
    enum err rc;

    *there_out = false;
    if (!pki_file_exists(path)) {
        return OK;
    }
    rc = pki_file_read(path, PKI_FILE_BYTES_MAX, &bytes, text);
    if (rc == OK) {
        *there_out = bytes.size == ca->size && memcmp(bytes.chars, ca->chars, ca->size) == 0;
    }
    pki_bytes_deinit(&bytes);
    return rc;
}

static enum err bundle_free(const struct bundle_paths *paths, const struct pki_pem *ca,
                            bool replace, bool *ca_there_out, struct err_text *text)
{
    enum err rc = bundle_ca_there(paths->ca, ca, ca_there_out, text);

    if (rc != OK || replace) {
        return rc;
    }
    if (!*ca_there_out && pki_file_exists(paths->ca)) {
        return err_text_set(text, ERR_EXISTS,
                            "%s is the certificate of another authority: use another folder",
                            paths->ca);
    }
    if (pki_file_exists(paths->cert) || pki_file_exists(paths->key)) {
        return err_text_set(text, ERR_EXISTS,
                            "%s is there already and was not overwritten: use another folder, or "
                            "say that it may be replaced",
                            pki_file_exists(paths->key) ? paths->key : paths->cert);
    }
    return OK;
}

enum err pki_bundle_check(const struct pki_identity *identity, const struct pki_pem *ca,
                          const char *dir, bool replace, struct err_text *text)
{
    struct bundle_paths paths;
    bool ca_there;
    enum err rc = bundle_paths(dir, identity, &paths, text);

    return rc != OK ? rc : bundle_free(&paths, ca, replace, &ca_there, text);
}

/* Refuse a bundle whose parts do not belong together. */
static enum err bundle_verify(const struct pki_bundle *bundle, const struct pki_identity *identity,
                              struct err_text *text)
{
    X509 *cert = NULL, *ca = NULL;
    EVP_PKEY *key = NULL;
    struct pki_identity found;
    enum err rc = pki_cert_decode(bundle->cert.chars, bundle->cert.size, &cert, text);

    if (rc == OK) {
        rc = pki_cert_decode(bundle->ca.chars, bundle->ca.size, &ca, text);
    }
    if (rc == OK) {
        rc = pki_key_decode(bundle->key.chars, bundle->key.size, &key, text);
    }
    if (rc == OK) {
        rc = pki_identity_from_cert(cert, &found, text);
    }
    if (rc != OK) {
        goto out_free;
    }
    if (!pki_identity_equal(&found, identity)) {
        rc = err_text_set(text, ERR_INVALID, "the certificate is for somebody else");
    } else if (X509_get0_pubkey(ca) == NULL || X509_verify(cert, X509_get0_pubkey(ca)) != 1) {
        rc = err_text_set(text, ERR_INVALID, "the certificate was not signed by this authority");
    } else if (X509_check_private_key(cert, key) != 1) {
        rc = err_text_set(text, ERR_INVALID, "the certificate does not belong to this key");
    }
out_free:
    ERR_clear_error();
    EVP_PKEY_free(key);
    X509_free(ca);
    X509_free(cert);
    return rc;
}

/* Name the staged files. A new key without its certificate would be in the way of the next try. */
static enum err bundle_commit(struct pki_staged *ca, struct pki_staged *key,
                              struct pki_staged *cert, bool replace, struct err_text *text)
{
    enum err rc = OK;

    if (ca->tmp[0] != '\0') {
        rc = pki_file_commit(ca, replace, text);
    }
    if (rc == OK) {
        rc = pki_file_commit(key, replace, text);
    }
    if (rc == OK) {
        rc = pki_file_commit(cert, replace, text);
        if (rc != OK && !replace) {
            (void)unlink(key->path);
            if (cert->tmp[0] == '\0') { /* Named, but the folder could not be flushed. */
                (void)unlink(cert->path);
            }
        }
    }
    return rc;
}

enum err pki_bundle_write(const struct pki_bundle *bundle, const struct pki_identity *identity,
                          const char *dir, bool replace, struct err_text *text)
{
    struct bundle_paths paths;
    struct pki_staged ca = {0}, key = {0}, cert = {0};
    bool ca_there = false;
    enum err rc = bundle_verify(bundle, identity, text);

    if (rc == OK) {
        rc = bundle_paths(dir, identity, &paths, text);
    }
    if (rc == OK) {
        rc = pki_dir_make(dir, text);
    }
    if (rc == OK) {
        rc = bundle_free(&paths, &bundle->ca, replace, &ca_there, text);
    }
    if (rc == OK && !ca_there) {
        rc = pki_file_stage(paths.ca, bundle->ca.chars, bundle->ca.size, 0644, &ca, text);
    }
    if (rc == OK) {
        rc = pki_file_stage(paths.key, bundle->key.chars, bundle->key.size, 0600, &key, text);
    }
    if (rc == OK) {
        rc = pki_file_stage(paths.cert, bundle->cert.chars, bundle->cert.size, 0644, &cert, text);
    }
    if (rc == OK) {
        rc = bundle_commit(&ca, &key, &cert, replace, text);
    }
    pki_file_discard(&ca);
    pki_file_discard(&key);
    pki_file_discard(&cert);
    return rc;
}
