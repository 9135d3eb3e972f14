/* A base station in a page: frames of a video in a queue that nothing leaves for a while, once with
 * the library's queue and once with a ring of its own. Ends with 0 if all is as it should be. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "airlane_octopus.h"

/* Allocations are counted: linked with --wrap. */
static unsigned long allocations;
void *__real_malloc(size_t);
void *__real_calloc(size_t, size_t);
void *__real_realloc(void *, size_t);
int __real_posix_memalign(void **, size_t, size_t);
void *__wrap_malloc(size_t n) { allocations++; return __real_malloc(n); }
void *__wrap_calloc(size_t n, size_t m) { allocations++; return __real_calloc(n, m); }
void *__wrap_realloc(void *p, size_t n) { allocations++; return __real_realloc(p, n); }
int __wrap_posix_memalign(void **p, size_t a, size_t n) { allocations++; return __real_posix_memalign(p, a, n); }

#define EXPECT(what) \
    do { \
        if (!(what)) { \
            fprintf(stderr, "embed.c:%d: not so: %s\n", __LINE__, #what); \
            exit(1); \
        } \
    } while (0)

enum { PACKETS = 3, MESSAGES = 200, IP_BYTES = 1500, FLOW = 42 };

/* A packet of message `message` of stream 1, by docs/wire/octopus.md: priority 1, drops 1 and above. */
static void fill(uint8_t header[12], uint32_t message, int number) {
    memset(header, 0, 12);
    header[0] = (uint8_t)(4 | (number == 0 ? 2 : 0) | (number == PACKETS - 1 ? 1 : 0));
    header[1] = 1 << 5 | 1 << 2 | 1 << 1;
    header[7] = 1;
    header[10] = (uint8_t)(message >> 8);
    header[11] = (uint8_t)message;
}

static int dropped_by[5];
static airlane_octopus_queue *in_use;
static void dropped(void *user, void *packet, int reason) {
    EXPECT(user == &dropped_by && packet != NULL);
    dropped_by[reason]++;
    /* The queue is in use, and every call for it says so. */
    void *next = packet;
    size_t packets = 7;
    EXPECT(airlane_octopus_queue_enqueue(in_use, 0, FLOW, NULL, 0, IP_BYTES, packet, NULL, NULL) == AIRLANE_OCTOPUS_BUSY);
    EXPECT(airlane_octopus_queue_dequeue(in_use, 0, &next, NULL, NULL) == AIRLANE_OCTOPUS_BUSY && next == NULL);
    EXPECT(airlane_octopus_queue_waiting(in_use, &packets, NULL) == AIRLANE_OCTOPUS_BUSY && packets == 0);
    EXPECT(airlane_octopus_queue_set_bandwidth(in_use, 1) == AIRLANE_OCTOPUS_BUSY);
    EXPECT(airlane_octopus_queue_free(in_use) == AIRLANE_OCTOPUS_BUSY);
}

static void with_the_queue(void) {
    static uint8_t packets[MESSAGES][PACKETS][12];
    airlane_octopus_queue *queue = airlane_octopus_queue_new(NULL, 50, 1000000);
    EXPECT(queue != NULL);
    in_use = queue;
    allocations = 0;
    for (uint32_t message = 0; message < MESSAGES; message++) {
        for (int number = 0; number < PACKETS; number++) {
            uint8_t *packet = packets[message][number];
            fill(packet, message, number);
            EXPECT(airlane_octopus_queue_enqueue(queue, message * 1000000ULL, FLOW, packet, 12, IP_BYTES,
                                                 packet, dropped, &dropped_by) == AIRLANE_OCTOPUS_OK);
        }
    }
    size_t waiting;
    uint64_t ip_bytes;
    EXPECT(airlane_octopus_queue_waiting(queue, &waiting, &ip_bytes) == AIRLANE_OCTOPUS_OK);
    EXPECT(waiting > 0 && waiting <= 50 && ip_bytes == IP_BYTES * waiting);
    int left = 0;
    for (;;) {
        void *packet;
        EXPECT(airlane_octopus_queue_dequeue(queue, 300000000ULL, &packet, dropped, &dropped_by) == AIRLANE_OCTOPUS_OK);
        if (packet == NULL)
            break;
        EXPECT(packet == packets[MESSAGES - 1][left]);
        left++;
    }
    EXPECT(left == PACKETS);
    EXPECT(dropped_by[AIRLANE_OCTOPUS_NEWER] == PACKETS * (MESSAGES - 1));
    EXPECT(allocations == 0);
    EXPECT(airlane_octopus_queue_free(queue) == AIRLANE_OCTOPUS_OK);
}

static void with_a_ring(void) {
    enum { ROOM = 16 };
    airlane_octopus_options options = {.streams = 8, .seed = 7};
    airlane_octopus_dropper *dropper = airlane_octopus_dropper_new(&options);
    struct { uint32_t message; int number; airlane_octopus_mark mark; } ring[ROOM];
    unsigned begin = 0, waiting = 0;
    int refused = 0, removed = 0, passed = 0, newer = 0;
    allocations = 0;
    for (uint32_t message = 0; message < 8; message++) {
        for (int number = 0; number < PACKETS; number++) {
            uint8_t header[12];
            airlane_octopus_mark mark;
            fill(header, message, number);
            int verdict = airlane_octopus_dropper_enqueue(dropper, 0, FLOW, header, 12, IP_BYTES, &mark);
            if (verdict == AIRLANE_OCTOPUS_PASS && waiting == ROOM) {
                airlane_octopus_dropper_refuse(dropper, &mark);
                verdict = AIRLANE_OCTOPUS_OVERFLOW;
                /* What came of its message before is of no use either. */
                while (waiting > 0 && ring[(begin + waiting - 1) % ROOM].message == message) {
                    waiting--;
                    removed++;
                    airlane_octopus_dropper_remove(dropper, &ring[(begin + waiting) % ROOM].mark);
                }
            }
            if (verdict != AIRLANE_OCTOPUS_PASS) {
                EXPECT(verdict == AIRLANE_OCTOPUS_OVERFLOW);
                refused++;
                continue;
            }
            unsigned place = (begin + waiting++) % ROOM;
            ring[place].message = message;
            ring[place].number = number;
            ring[place].mark = mark;
        }
    }
    for (; waiting > 0; waiting--, begin = (begin + 1) % ROOM) {
        switch (airlane_octopus_dropper_dequeue(dropper, 0, &ring[begin].mark)) {
        case AIRLANE_OCTOPUS_PASS:
            EXPECT(ring[begin].message == 4 && ring[begin].number == passed);
            passed++;
            break;
        case AIRLANE_OCTOPUS_NEWER:
            newer++;
            break;
        default:
            EXPECT(!"any other reason");
        }
    }
    /* Five messages find room; of the sixth to the eighth one packet each does. */
    EXPECT(passed == PACKETS && newer == 4 * PACKETS && refused == 6 && removed == 3);
    EXPECT(allocations == 0);
    EXPECT(airlane_octopus_dropper_free(dropper) == AIRLANE_OCTOPUS_OK);
}

static void without_objects(void) {
    airlane_octopus_mark mark = {{0}};
    void *packet = &mark;
    airlane_octopus_queue *queue = airlane_octopus_queue_new(NULL, 1, 1);
    airlane_octopus_dropper *dropper = airlane_octopus_dropper_new(NULL);
    EXPECT(airlane_octopus_dropper_enqueue(NULL, 0, 0, NULL, 0, 0, &mark) == AIRLANE_OCTOPUS_NULL);
    EXPECT(airlane_octopus_dropper_enqueue(dropper, 0, 0, NULL, 0, 0, NULL) == AIRLANE_OCTOPUS_NULL);
    EXPECT(airlane_octopus_dropper_dequeue(NULL, 0, &mark) == AIRLANE_OCTOPUS_NULL);
    EXPECT(airlane_octopus_dropper_dequeue(dropper, 0, NULL) == AIRLANE_OCTOPUS_NULL);
    EXPECT(airlane_octopus_dropper_refuse(NULL, &mark) == AIRLANE_OCTOPUS_NULL);
    EXPECT(airlane_octopus_dropper_remove(dropper, NULL) == AIRLANE_OCTOPUS_NULL);
    EXPECT(airlane_octopus_dropper_set_bandwidth(NULL, 1) == AIRLANE_OCTOPUS_NULL);
    EXPECT(airlane_octopus_dropper_free(NULL) == AIRLANE_OCTOPUS_OK);
    EXPECT(airlane_octopus_queue_enqueue(NULL, 0, 0, NULL, 0, 0, NULL, NULL, NULL) == AIRLANE_OCTOPUS_NULL);
    EXPECT(airlane_octopus_queue_dequeue(NULL, 0, &packet, NULL, NULL) == AIRLANE_OCTOPUS_NULL && packet == NULL);
    EXPECT(airlane_octopus_queue_dequeue(queue, 0, NULL, NULL, NULL) == AIRLANE_OCTOPUS_NULL);
    EXPECT(airlane_octopus_queue_waiting(NULL, NULL, NULL) == AIRLANE_OCTOPUS_NULL);
    EXPECT(airlane_octopus_queue_waiting(queue, NULL, NULL) == AIRLANE_OCTOPUS_OK);
    EXPECT(airlane_octopus_queue_set_bandwidth(NULL, 1) == AIRLANE_OCTOPUS_NULL);
    EXPECT(airlane_octopus_queue_free(NULL) == AIRLANE_OCTOPUS_OK);
    airlane_octopus_dropper_free(dropper);
    airlane_octopus_queue_free(queue);
}

int main(void) {
    EXPECT(strcmp(airlane_octopus_version(), AIRLANE_OCTOPUS_VERSION) == 0);
    without_objects();
    with_the_queue();
    with_a_ring();
    puts("as it should be");
    return 0;
}
