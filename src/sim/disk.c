/* Files are kept in an array sorted by name, so that listing needs no sorting and crashing meets
 * them in the same order on every machine. */

#include "sim/disk.h"

#include "base/mem.h"
#include "base/rng.h"

#include <string.h>

enum { DISK_ROOM_FIRST = 256, DISK_SHELF = 256 };

struct disk_file {
    char name[SIM_DISK_NAME_BYTES];
    uint8_t *bytes;
    size_t size;
    size_t room;
    size_t durable; /* Bytes that survive a crash. */
    bool known;     /* The file itself survives a crash. */
    bool stuck;     /* A sync failed: nothing more becomes durable. */
};

/* A file as it was before it was lost or damaged. */
struct disk_shelved {
    struct disk_file *good;
    const struct disk_file *damaged; /* In its place; NULL: there is none. */
    uint32_t number;                 /* Of what befell it. */
};

struct sim_disk {
    uint64_t capacity_bytes;
    uint64_t used_bytes;
    uint32_t files_max;
    uint32_t files_count;
    struct disk_file **files;
    struct rng rng;
    uint32_t faults_left[SIM_DISK_FAULTS];
    uint64_t faults_met[SIM_DISK_FAULTS];
    uint32_t starved;
    uint64_t starved_met;
    int64_t extra_ns;
    uint64_t slow_met;
    struct disk_shelved shelf[DISK_SHELF];
    uint32_t shelf_count;
    uint32_t shelf_number;
    uint64_t lost_met[2]; /* Lost, damaged. */
};

enum err sim_disk_create(const struct sim_disk_config *config, struct sim_disk **disk_out)
{
    struct sim_disk *d;

    if (config->capacity_bytes == 0 || config->capacity_bytes > SIM_DISK_CAPACITY_LIMIT ||
        config->files_max == 0 || config->files_max > SIM_DISK_FILES_LIMIT) {
        return ERR_TOO_BIG;
    }
    d = mem_zalloc(sizeof(*d));
    if (d == NULL) {
        return ERR_NOMEM;
    }
    d->files = mem_calloc(config->files_max, sizeof(struct disk_file *));
    if (d->files == NULL) {
        mem_free(d);
        return ERR_NOMEM;
    }
    d->capacity_bytes = config->capacity_bytes;
    d->files_max = config->files_max;
    rng_init(&d->rng, config->seed);
    *disk_out = d;
    return OK;
}

static void disk_file_destroy(struct disk_file *file)
{
    mem_free(file->bytes);
    mem_free(file);
}

void sim_disk_destroy(struct sim_disk *d)
{
    if (d == NULL) {
        return;
    }
    for (uint32_t i = 0; i < d->files_count; i++) {
        disk_file_destroy(d->files[i]);
    }
    for (uint32_t i = 0; i < d->shelf_count; i++) {
        disk_file_destroy(d->shelf[i].good);
    }
    mem_free(d->files);
    mem_free(d);
}

static bool disk_name_ok(const char *name)
{
    size_t size = strnlen(name, SIM_DISK_NAME_BYTES);

    for (size_t i = 0; i < size; i++) {
        if (name[i] == '/' || (unsigned char)name[i] < ' ' || name[i] == 0x7f) {
            return false;
        }
    }
    return size > 0 && size < SIM_DISK_NAME_BYTES;
}

/* Return where the file is, or where it would have to be. */
static uint32_t disk_find(const struct sim_disk *d, const char *name, bool *found_out)
{
    uint32_t low = 0;
    uint32_t high = d->files_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (strcmp(d->files[middle]->name, name) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *found_out = low < d->files_count && strcmp(d->files[low]->name, name) == 0;
    return low;
}

/* Return the file of that name: ERR_INVALID or ERR_NOT_FOUND. */
static enum err disk_open(const struct sim_disk *d, const char *name, uint32_t *index_out)
{
    bool found;
    uint32_t index;

    if (!disk_name_ok(name)) {
        return ERR_INVALID;
    }
    index = disk_find(d, name, &found);
    if (!found) {
        return ERR_NOT_FOUND;
    }
    *index_out = index;
    return OK;
}

/* True if the fault is on: it has been met now. */
static bool disk_fault(struct sim_disk *d, enum sim_disk_fault fault)
{
    if (d->faults_left[fault] == 0) {
        return false;
    }
    d->faults_left[fault]--;
    d->faults_met[fault]++;
    return true;
}

static bool disk_starved(struct sim_disk *d)
{
    d->starved_met += d->starved > 0;
    return d->starved > 0;
}

/* Make a file that is on no disk yet, with room for @room bytes. */
static struct disk_file *disk_file_create(const char *name, size_t room)
{
    struct disk_file *file = mem_zalloc(sizeof(*file));

    if (file == NULL) {
        return NULL;
    }
    file->room = room > DISK_ROOM_FIRST ? room : DISK_ROOM_FIRST;
    file->bytes = mem_calloc(file->room, 1);
    if (file->bytes == NULL) {
        mem_free(file);
        return NULL;
    }
    memcpy(file->name, name, strlen(name) + 1);
    return file;
}

static enum err disk_file_reserve(struct disk_file *file, size_t more)
{
    size_t room = file->room;
    uint8_t *bytes;

    while (room - file->size < more) {
        room *= 2; /* Sizes are below SIM_DISK_CAPACITY_LIMIT: no overflow. */
    }
    if (room == file->room) {
        return OK;
    }
    bytes = mem_calloc(room, 1);
    if (bytes == NULL) {
        return ERR_NOMEM;
    }
    memcpy(bytes, file->bytes, file->size);
    mem_free(file->bytes);
    file->bytes = bytes;
    file->room = room;
    return OK;
}

static void disk_insert(struct sim_disk *d, uint32_t index, struct disk_file *file)
{
    memmove(&d->files[index + 1], &d->files[index],
            (d->files_count - index) * sizeof(struct disk_file *));
    d->files[index] = file;
    d->files_count++;
}

static void disk_delete(struct sim_disk *d, uint32_t index)
{
    d->used_bytes -= d->files[index]->size;
    disk_file_destroy(d->files[index]);
    d->files_count--;
    memmove(&d->files[index], &d->files[index + 1],
            (d->files_count - index) * sizeof(struct disk_file *));
}

/* Copying nothing is allowed, from nowhere too. */
static void disk_file_add(struct sim_disk *d, struct disk_file *file, const void *bytes,
                          size_t size)
{
    if (size > 0) {
        memcpy(file->bytes + file->size, bytes, size);
        file->size += size;
        d->used_bytes += size;
    }
}

/* May @size bytes be written under that name? */
static enum err disk_admit(struct sim_disk *d, const char *name, size_t size, uint32_t *index_out,
                           bool *found_out)
{
    if (!disk_name_ok(name)) {
        return ERR_INVALID;
    }
    *index_out = disk_find(d, name, found_out);
    if (!*found_out && d->files_count == d->files_max) {
        return ERR_TOO_BIG;
    }
    if (disk_fault(d, SIM_DISK_FULL)) {
        return ERR_FULL;
    }
    /* After the capacity was lowered, more may be used than there is. */
    if (d->used_bytes > d->capacity_bytes || size > d->capacity_bytes - d->used_bytes) {
        return ERR_FULL;
    }
    return OK;
}

enum err sim_disk_write_atomic(struct sim_disk *d, const char *name, const void *bytes, size_t size)
{
    struct disk_file *file;
    uint32_t index;
    bool found;
    enum err rc = disk_starved(d) ? ERR_IO : disk_admit(d, name, size, &index, &found);

    if (rc != OK) {
        return rc;
    }
    if (disk_fault(d, SIM_DISK_SHORT) || disk_fault(d, SIM_DISK_SYNC) ||
        disk_fault(d, SIM_DISK_RENAME)) {
        return ERR_IO;
    }
    file = disk_file_create(name, size);
    if (file == NULL) {
        return ERR_NOMEM;
    }
    disk_file_add(d, file, bytes, size);
    file->durable = size;
    file->known = true;
    if (found) {
        disk_delete(d, index);
    }
    disk_insert(d, index, file);
    return OK;
}

enum err sim_disk_append(struct sim_disk *d, const char *name, const void *bytes, size_t size)
{
    struct disk_file *file;
    uint32_t index;
    bool found;
    enum err rc = disk_admit(d, name, size, &index, &found);

    if (rc != OK) {
        return rc;
    }
    if (found) {
        file = d->files[index];
        rc = disk_file_reserve(file, size);
    } else {
        file = disk_file_create(name, size);
        rc = file == NULL ? ERR_NOMEM : OK;
    }
    if (rc != OK) {
        return rc;
    }
    if (!found) {
        disk_insert(d, index, file);
    }
    if (size > 0 && disk_fault(d, SIM_DISK_SHORT)) {
        size = (size_t)rng_below(&d->rng, size);
        rc = ERR_IO;
    }
    disk_file_add(d, file, bytes, size);
    return rc;
}

enum err sim_disk_sync(struct sim_disk *d, const char *name)
{
    uint32_t index;
    enum err rc = disk_open(d, name, &index);
    struct disk_file *file;

    if (rc != OK) {
        return rc;
    }
    file = d->files[index];
    if (disk_fault(d, SIM_DISK_SYNC)) {
        file->stuck = true;
        return ERR_IO;
    }
    if (!file->stuck) {
        file->durable = file->size;
        file->known = true;
    }
    return OK;
}

/* Somebody reads it, or would. */
static void disk_miss(struct sim_disk *d, const char *name)
{
    for (uint32_t i = 0; i < d->shelf_count; i++) {
        d->lost_met[d->shelf[i].damaged != NULL] += strcmp(d->shelf[i].good->name, name) == 0;
    }
}

enum err sim_disk_read(struct sim_disk *d, const char *name, const uint8_t **bytes_out,
                       size_t *size_out)
{
    uint32_t index;
    enum err rc = disk_starved(d) ? ERR_IO : disk_open(d, name, &index);

    disk_miss(d, name);
    if (rc == OK) {
        *bytes_out = d->files[index]->bytes;
        *size_out = d->files[index]->size;
    }
    return rc;
}

enum err sim_disk_remove(struct sim_disk *d, const char *name)
{
    uint32_t index;
    enum err rc = disk_open(d, name, &index);

    if (rc == OK) {
        disk_delete(d, index);
    }
    return rc;
}

void sim_disk_list(const struct sim_disk *d, const char *prefix,
                   void (*file)(const char *name, size_t size, void *user), void *user)
{
    size_t size = strlen(prefix);
    bool found;

    for (uint32_t i = disk_find(d, prefix, &found);
         i < d->files_count && strncmp(d->files[i]->name, prefix, size) == 0; i++) {
        file(d->files[i]->name, d->files[i]->size, user);
    }
}

void sim_disk_crash(struct sim_disk *d)
{
    for (uint32_t i = 0; i < d->files_count;) {
        struct disk_file *file = d->files[i];
        size_t unsynced = file->size - file->durable;
        size_t kept = unsynced == 0 ? 0 : (size_t)rng_below(&d->rng, (uint64_t)unsynced + 1);

        d->used_bytes -= unsynced - kept;
        file->size = file->durable + kept;
        file->durable = file->size;
        file->stuck = false;
        if (!file->known && file->size == 0) {
            disk_delete(d, i);
        } else {
            file->known = true;
            i++;
        }
    }
    memset(d->faults_left, 0, sizeof(d->faults_left));
}

void sim_disk_fault_set(struct sim_disk *d, enum sim_disk_fault fault, uint32_t operations)
{
    CHECK(fault < SIM_DISK_FAULTS);
    d->faults_left[fault] = operations;
}

uint64_t sim_disk_fault_count(const struct sim_disk *d, enum sim_disk_fault fault)
{
    CHECK(fault < SIM_DISK_FAULTS);
    return d->faults_met[fault];
}

void sim_disk_starve(struct sim_disk *d, bool starved)
{
    d->starved = starved ? d->starved + 1 : d->starved - 1;
}

uint64_t sim_disk_starved_count(const struct sim_disk *d)
{
    return d->starved_met;
}

void sim_disk_slow(struct sim_disk *d, int64_t extra_ns)
{
    d->extra_ns += extra_ns;
}

int64_t sim_disk_extra_ns(struct sim_disk *d)
{
    d->slow_met += d->extra_ns > 0;
    return d->extra_ns;
}

uint64_t sim_disk_slow_count(const struct sim_disk *d)
{
    return d->slow_met;
}

/* Losing files. */

/* The bytes of @name up to the '+' that follows @part; zero: it is not one of them. */
static size_t disk_folder(const char *name, const char *part)
{
    const char *at = strstr(name, part);
    const char *end = at == NULL ? NULL : strchr(at + strlen(part), '+');

    return end == NULL ? 0 : (size_t)(end - name) + 1;
}

/* One of the files in such a folder; NULL: there is none. */
static const struct disk_file *disk_pick(struct sim_disk *d, const char *part)
{
    uint64_t count = 0, pick;

    for (uint32_t i = 0; i < d->files_count; i++) {
        count += disk_folder(d->files[i]->name, part) > 0;
    }
    pick = count == 0 ? 0 : rng_below(&d->rng, count);
    for (uint32_t i = 0; i < d->files_count && count > 0; i++) {
        if (disk_folder(d->files[i]->name, part) > 0 && pick-- == 0) {
            return d->files[i];
        }
    }
    return NULL;
}

static void disk_shelve(struct sim_disk *d, struct disk_file *good, const struct disk_file *damaged)
{
    d->shelf[d->shelf_count++] =
        (struct disk_shelved){.good = good, .damaged = damaged, .number = d->shelf_number};
}

/* Flip a bit, and keep the file as it was. False if there is no memory, or it is empty. */
static bool disk_damage(struct sim_disk *d, struct disk_file *file)
{
    struct disk_file *good = file->size == 0 ? NULL : disk_file_create(file->name, file->size);
    uint64_t bit;

    if (good == NULL) {
        return false;
    }
    memcpy(good->bytes, file->bytes, file->size);
    good->size = file->size;
    good->durable = file->size;
    good->known = true;
    bit = rng_below(&d->rng, (uint64_t)file->size * 8);
    file->bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    disk_shelve(d, good, file);
    return true;
}

/* Take the file at @index away, and keep it. */
static void disk_hide(struct sim_disk *d, uint32_t index)
{
    struct disk_file *file = d->files[index];

    d->used_bytes -= file->size;
    d->files_count--;
    memmove(&d->files[index], &d->files[index + 1],
            (d->files_count - index) * sizeof(struct disk_file *));
    disk_shelve(d, file, NULL);
}

uint32_t sim_disk_lose(struct sim_disk *d, const char *part, bool damage)
{
    const struct disk_file *pick = disk_pick(d, part);
    size_t size = pick == NULL ? 0 : disk_folder(pick->name, part);
    uint32_t shelved = d->shelf_count;
    uint32_t first, end;
    char folder[SIM_DISK_NAME_BYTES];

    if (pick == NULL) {
        return 0;
    }
    memcpy(folder, pick->name, size);
    for (first = 0; strncmp(d->files[first]->name, folder, size) != 0; first++) {
    }
    for (end = first; end < d->files_count && strncmp(d->files[end]->name, folder, size) == 0;) {
        end++;
    }
    if (end - first > DISK_SHELF - d->shelf_count) {
        return 0;
    }
    d->shelf_number++;
    if (damage) {
        (void)disk_damage(d, d->files[end - 1]);
    }
    for (uint32_t i = end; i > first && !damage; i--) {
        disk_hide(d, i - 1);
    }
    return d->shelf_count > shelved ? d->shelf_number : 0;
}

/* Put one back, unless another one took its place. */
static void disk_unshelve(struct sim_disk *d, const struct disk_shelved *s)
{
    bool found;
    uint32_t index = disk_find(d, s->good->name, &found);
    bool room = d->files_count < d->files_max;

    if (found && d->files[index] == s->damaged) {
        disk_delete(d, index);
        found = false;
    } else if (s->damaged != NULL) {
        found = true; /* It was removed, or written anew. */
    }
    if (found || !room) {
        disk_file_destroy(s->good);
        return;
    }
    disk_insert(d, index, s->good);
    d->used_bytes += s->good->size;
}

void sim_disk_mend(struct sim_disk *d, uint32_t number)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < d->shelf_count; i++) {
        struct disk_shelved s = d->shelf[i];

        if (s.number == number) {
            disk_unshelve(d, &s);
        } else {
            d->shelf[kept++] = s;
        }
    }
    d->shelf_count = kept;
}

uint64_t sim_disk_lost_count(const struct sim_disk *d, bool damaged)
{
    return d->lost_met[damaged];
}

enum err sim_disk_capacity_set(struct sim_disk *d, uint64_t bytes)
{
    if (bytes > SIM_DISK_CAPACITY_LIMIT) {
        return ERR_TOO_BIG;
    }
    d->capacity_bytes = bytes;
    return OK;
}

uint64_t sim_disk_used_bytes(const struct sim_disk *d)
{
    return d->used_bytes;
}

uint32_t sim_disk_files_count(const struct sim_disk *d)
{
    return d->files_count;
}

uint64_t sim_disk_unsynced_bytes(const struct sim_disk *d)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < d->files_count; i++) {
        bytes += d->files[i]->size - d->files[i]->durable;
    }
    return bytes;
}
