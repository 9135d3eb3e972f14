/* Octopus for queues in C: which messages of real-time streams are dropped, as their application says.
 *
 * Two ways to use it. Have a queue of your own, and ask an airlane_octopus_dropper about every packet
 * that comes and leaves; or use airlane_octopus_queue, which is such a queue. Nothing is allocated but
 * by the functions ending in _new (and by a queue of more than 65536 packets, as it fills).
 *
 * One call at a time uses an object: one thread, and no call for a queue from within its callback. A
 * call for an object that is in use does nothing but return AIRLANE_OCTOPUS_BUSY, and one without an
 * object returns AIRLANE_OCTOPUS_NULL.
 *
 * Times are nanoseconds of a clock that does not go back. Sizes are of IP packets. A flow is a number
 * that tells connections apart, such as a hash of addresses and ports. A packet's payload is what
 * follows its UDP header: the Octopus header is read there, and a packet without one passes.
 *
 * Install with `make octopus PREFIX=/usr/local`, and build with what
 * `pkg-config --cflags --libs airlane-octopus` says. */
#ifndef AIRLANE_OCTOPUS_H
#define AIRLANE_OCTOPUS_H

#include <stddef.h>
#include <stdint.h>

/* The version of this header. airlane_octopus_version() says that of the library: of 0.x, only
 * libraries with the same minor version have the same interface. */
#define AIRLANE_OCTOPUS_VERSION_MAJOR 0
#define AIRLANE_OCTOPUS_VERSION_MINOR 1
#define AIRLANE_OCTOPUS_VERSION_PATCH 0
#define AIRLANE_OCTOPUS_VERSION "0.1.0"

#ifdef __cplusplus
extern "C" {
#endif

const char *airlane_octopus_version(void);

/* What happens to a packet, and why. */
enum {
    AIRLANE_OCTOPUS_OK = 0,       /* of calls that are not about a packet: done */
    AIRLANE_OCTOPUS_PASS = 0,
    AIRLANE_OCTOPUS_NEWER = 1,    /* a newer message drops its message */
    AIRLANE_OCTOPUS_BITRATE = 2,  /* its stream is served more slowly than its message asks for */
    AIRLANE_OCTOPUS_HEADLESS = 3, /* the first packet of its message never came */
    AIRLANE_OCTOPUS_OVERFLOW = 4, /* no room for it, or for another packet of its message */
    AIRLANE_OCTOPUS_NULL = -1,    /* a null pointer where none may be: nothing was done */
    AIRLANE_OCTOPUS_BUSY = -2     /* the object is in use: nothing was done */
};

typedef struct {
    uint32_t streams; /* streams at most, of all connections; 0 means 64 */
    uint8_t slack;    /* not 0: a message is dropped only when it is whole and has waited for its slack */
    uint8_t headless; /* not 0: packets whose message began elsewhere are dropped instead of passed */
    uint64_t seed;    /* a number that strangers do not know */
} airlane_octopus_options;

/* What lies beside a packet in a queue of your own: give it back unchanged, once. */
typedef struct {
    uint64_t opaque[4];
} airlane_octopus_mark;

typedef struct airlane_octopus_dropper airlane_octopus_dropper;
typedef struct airlane_octopus_queue airlane_octopus_queue;

/* Is called with every packet that a queue drops. It must not call the queue, which is in use. */
typedef void (*airlane_octopus_dropped)(void *user, void *packet, int reason);

/* A null pointer for options means all zero. */
airlane_octopus_dropper *airlane_octopus_dropper_new(const airlane_octopus_options *options);
/* AIRLANE_OCTOPUS_OK also for a null pointer. */
int airlane_octopus_dropper_free(airlane_octopus_dropper *dropper);
/* A packet comes: AIRLANE_OCTOPUS_PASS and a mark to keep with it, or why not to take it. */
int airlane_octopus_dropper_enqueue(airlane_octopus_dropper *dropper, uint64_t now_ns, uint64_t flow,
                                    const void *payload, size_t payload_bytes, uint32_t ip_bytes,
                                    airlane_octopus_mark *mark);
/* There is no room for the packet that has just come: its mark is of no more use. What else of its
 * message waits should be taken out and removed: it can no longer be whole. */
int airlane_octopus_dropper_refuse(airlane_octopus_dropper *dropper, const airlane_octopus_mark *mark);
/* The packet that has waited for longest is about to leave: AIRLANE_OCTOPUS_PASS, or why to drop it. */
int airlane_octopus_dropper_dequeue(airlane_octopus_dropper *dropper, uint64_t now_ns,
                                    const airlane_octopus_mark *mark);
/* A packet has left the queue in another way. */
int airlane_octopus_dropper_remove(airlane_octopus_dropper *dropper, const airlane_octopus_mark *mark);
/* How fast the queue is served, where that is known, bit/s; 0: it is measured from what leaves. */
int airlane_octopus_dropper_set_bandwidth(airlane_octopus_dropper *dropper, uint64_t bps);

airlane_octopus_queue *airlane_octopus_queue_new(const airlane_octopus_options *options,
                                                 size_t packets, uint64_t ip_bytes);
/* Packets that wait are not given back. AIRLANE_OCTOPUS_OK also for a null pointer. */
int airlane_octopus_queue_free(airlane_octopus_queue *queue);
/* Takes a packet, or gives it and others to `dropped`; `dropped` may be NULL. */
int airlane_octopus_queue_enqueue(airlane_octopus_queue *queue, uint64_t now_ns, uint64_t flow,
                                  const void *payload, size_t payload_bytes, uint32_t ip_bytes,
                                  void *packet, airlane_octopus_dropped dropped, void *user);
/* Puts the next packet to leave into `*packet`, NULL if none waits; gives what is dropped on the way to
 * `dropped`, which may be NULL. */
int airlane_octopus_queue_dequeue(airlane_octopus_queue *queue, uint64_t now_ns, void **packet,
                                  airlane_octopus_dropped dropped, void *user);
/* Puts the packets that wait, and their bytes, where these pointers lead; either may be NULL. */
int airlane_octopus_queue_waiting(const airlane_octopus_queue *queue, size_t *packets,
                                  uint64_t *ip_bytes);
int airlane_octopus_queue_set_bandwidth(airlane_octopus_queue *queue, uint64_t bps);

#ifdef __cplusplus
}
#endif
#endif
