/* Overwrites 4 KiB blocks of objects whose acting primary is one OSD, a thread for each OSD: what
   ceph-gobench does, written from the description of its method. Needs CEPH_CONF.
   Prints per OSD: its number, writes per second, mean latency (us); then the processor seconds per
   million writes. usage: per_osd POOL SECONDS OSD... */
#include <pthread.h>
#include <rados/librados.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OBJECTS = 16, OBJECT_BYTES = 4 << 20, BLOCK_BYTES = 4096, OSDS_MAX = 1024 };

struct osd { int number, found; char names[OBJECTS][64]; rados_ioctx_t pool; long writes; };

static rados_t cluster;
static double seconds;
static char noise[2 * OBJECT_BYTES];

static void check(int result, const char *what) {
    if (result < 0) { fprintf(stderr, "%s: %s\n", what, strerror(-result)); exit(1); }
}

static double now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static int primary_of(const char *pool, const char *name) {
    char text[256], *out, *status;
    size_t out_size, status_size;
    snprintf(text, sizeof text, "{\"prefix\":\"osd map\",\"pool\":\"%s\",\"object\":\"%s\","
             "\"format\":\"json\"}", pool, name);
    const char *command[] = {text};
    check(rados_mon_command(cluster, command, 1, "", 0, &out, &out_size, &status, &status_size),
          "osd map");
    char *copy = strndup(out, out_size), *field = strstr(copy, "\"acting_primary\":");
    int primary = field ? atoi(field + strlen("\"acting_primary\":")) : -1;
    free(copy), rados_buffer_free(out), rados_buffer_free(status);
    return primary;
}

static void *overwrite(void *argument) {
    struct osd *osd = argument;
    unsigned seed = time(NULL) ^ osd->number;
    double end = now(CLOCK_MONOTONIC) + seconds;
    for (; now(CLOCK_MONOTONIC) < end; osd->writes++) {
        const char *name = osd->names[rand_r(&seed) % OBJECTS];
        const char *from = noise + rand_r(&seed) % OBJECT_BYTES;
        long offset = (long)(rand_r(&seed) % (OBJECT_BYTES / BLOCK_BYTES)) * BLOCK_BYTES;
        check(rados_write(osd->pool, name, from, BLOCK_BYTES, offset), "write");
    }
    return NULL;
}

int main(int count, char **words) {
    static struct osd osds[OSDS_MAX];
    static pthread_t threads[OSDS_MAX];
    int wanted = count - 3, full = 0;
    if (wanted < 1 || wanted > OSDS_MAX) return 2;
    seconds = atof(words[2]);
    check(rados_create(&cluster, "admin"), "create");
    check(rados_conf_read_file(cluster, NULL), "conf");
    check(rados_connect(cluster), "connect");
    for (size_t at = 0; at < sizeof noise; at++) noise[at] = rand();
    for (int i = 0; i < wanted; i++) {
        osds[i].number = atoi(words[3 + i]);
        check(rados_ioctx_create(cluster, words[1], &osds[i].pool), "pool");
    }
    for (long number = 0; full < wanted; number++) {
        char name[64];
        snprintf(name, sizeof name, "per-osd-%ld", number);
        int primary = primary_of(words[1], name);
        for (int i = 0; i < wanted; i++) {
            struct osd *osd = &osds[i];
            if (osd->number != primary || osd->found == OBJECTS) continue;
            strcpy(osd->names[osd->found], name);
            const char *from = noise + rand() % OBJECT_BYTES;
            check(rados_write_full(osd->pool, name, from, OBJECT_BYTES), "fill");
            full += ++osd->found == OBJECTS;
        }
    }
    double cpu = now(CLOCK_PROCESS_CPUTIME_ID), begun = now(CLOCK_MONOTONIC);
    for (int i = 0; i < wanted; i++) pthread_create(&threads[i], NULL, overwrite, &osds[i]);
    for (int i = 0; i < wanted; i++) pthread_join(threads[i], NULL);
    double elapsed = now(CLOCK_MONOTONIC) - begun, total = 0;
    cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    for (int i = 0; i < wanted; i++) {
        total += osds[i].writes;
        long writes = osds[i].writes;
        printf("%d %f %f\n", osds[i].number, writes / elapsed, elapsed * 1e6 / writes);
        for (int name = 0; name < OBJECTS; name++) rados_remove(osds[i].pool, osds[i].names[name]);
        rados_ioctx_destroy(osds[i].pool);
    }
    printf("cpu %f\n", cpu / total * 1e6);
    rados_shutdown(cluster);
    return 0;
}
