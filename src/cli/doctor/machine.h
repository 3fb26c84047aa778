/* Facts about the machine we run on, read from the kernel's files. Missing facts are said so, never
 * guessed. */

#ifndef CLI_DOCTOR_MACHINE_H
#define CLI_DOCTOR_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Read the first line of a small file, without its newline. False if it cannot be read. */
bool machine_read(const char *path, char *out, size_t size);

/* Read the first number in a small file. */
bool machine_read_number(const char *path, int64_t *out);

/* True if @word is one of the words in @list, separated by blanks. */
bool machine_has_word(const char *list, const char *word);

/* The most memory that this process can have from now on, in bytes: the least of what the machine
 * has, its control group and those above it allow, and ulimit -v and -d leave. @limited_out: some
 * limit is lower than what the machine has. UINT64_MAX: not known. */
uint64_t machine_memory_max(bool *limited_out);

/* True if OpenSSL can hand a connection's encryption to the kernel, and if the kernel can take
 * it (the module may be loaded on demand). */
bool machine_ktls_library(void);
bool machine_ktls_kernel(void);

#endif
