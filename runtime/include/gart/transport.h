/* Messages between the processes of one job. libgart_mpi.so implements it with MPI. */
#ifndef GART_TRANSPORT_H
#define GART_TRANSPORT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A started message. It belongs to the transport that started it. */
typedef struct gart_message gart_message;

/* A job's processes have the ranks 0 to size - 1. The fleet library calls these functions from several threads, but
   never two at once. No function waits for another process.

   Messages from one process to another with the same tag arrive in the order in which they were sent. Tags are 1 to
   32767. */
typedef struct gart_transport {
  void* self; /* the first argument of each function */
  int rank, size;
  const char* host; /* the name of this process's machine */
  /* Starts to send `bytes` bytes, which must not change until test() returns 1. Null: failed, see reason(). */
  gart_message* (*send)(void* self, int to, int tag, const void* data, size_t bytes);
  /* Starts to receive at most `bytes` bytes. Null: failed. */
  gart_message* (*receive)(void* self, int from, int tag, void* data, size_t bytes);
  /* 1: the message is complete and released. 0: not yet. -1: it failed and is released. */
  int (*test)(void* self, gart_message* message);
  /* Releases a message that is not complete. A receive writes nothing afterwards. The data of a send must stay valid
     until the process ends. */
  void (*drop)(void* self, gart_message* message);
  /* Looks for a message with this tag from `from` that no receive has taken. 1: there is one, of *bytes bytes. 0: there
     is none. -1: failed. */
  int (*probe)(void* self, int from, int tag, size_t* bytes);
  const char* (*reason)(void* self); /* the last failure, in words */
  /* Leaves the job in order. Without it, the launcher ends the other processes when this one ends. */
  void (*close)(void* self);
} gart_transport;

/* The function that a transport library exports as "gart_open_transport". It joins the job that started this process.
   Null: there is no such job; `reason` (of `capacity` bytes) says why. */
typedef const gart_transport* (*gart_open_transport_fn)(char* reason, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif
