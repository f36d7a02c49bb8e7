/* The C API of models over several devices, over the same core as fleet.hpp; C11. Semantics, threads and lifetimes are
 * those of fleet.hpp. libgart_fleet.so, beside libgart.so.
 *
 * Every function that can fail returns 0 (GART_OK) or one of gart_status; gart_fleet_last_error() then returns
 * the message.
 */
#ifndef GART_FLEET_H
#define GART_FLEET_H

#include "gart/gart.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gart_fleet gart_fleet;
typedef struct gart_fleet_request gart_fleet_request;
typedef struct gart_hosts gart_hosts;
typedef struct gart_manager gart_manager;

typedef struct gart_fleet_options {
  size_t size;     /* sizeof(gart_fleet_options) */
  int skip_verify; /* as gart_load_options */
  int threads;     /* of each CPU pool; 0: one per core */
  int requests;    /* limit of concurrent requests; 0: two per device */
  /* The devices of this machine that serve as devices of the file, "cpu:0-1" for "acc:0": names and devices in turn. */
  const char* const* devices;
  size_t device_count; /* pairs */
  /* Placements that replace those of the file: groups and devices of the file in turn. */
  const char* const* places;
  size_t place_count;      /* pairs */
  const char* const* only; /* names in the file: only these devices are used; none: all */
  size_t only_count;
  int no_monitor;                   /* measure nothing */
  const gart_custom_op* custom_ops; /* as gart_load_options; called by the lanes' threads */
  size_t custom_op_count;
  int dynamic;         /* each request's groups run where they are estimated to end first, given the devices' work */
  int refuse_requests; /* nonzero: starting a request beyond the limit fails with GART_BUSY */
  const char* const* trusted_keys; /* this and the next three: as gart_load_options */
  size_t trusted_key_count;
  const void* signature;
  size_t signature_size;
  const gart_hosts* hosts;     /* the job whose ranks run the parts of other hosts; NULL: this process runs all parts */
  const gart_manager* manager; /* the program shares the queues of its devices with all programs of this manager */
} gart_fleet_options;

/* The times of a group on a device: microseconds per run, medians. */
typedef struct gart_group_time {
  const char *group, *device; /* valid until the next gart_fleet_times on this thread */
  double operation_us, idle_us, noise_us, begin_us;
  int64_t runs;
  int crossed; /* in runs where another device made one of its inputs */
} gart_group_time;

typedef struct gart_group_place {
  const char *group, *device; /* valid until the next gart_fleet_places on this thread */
} gart_group_place;

/* The message of the last failure on this thread; "" if nothing failed yet. */
GART_C_API const char* gart_fleet_last_error(void);

/* `options`: NULL for the file's choices. */
GART_C_API gart_status gart_fleet_load(const char* path, const gart_fleet_options* options, gart_fleet** fleet);
/* Requests may outlive the fleet: they keep the state that they need. */
GART_C_API void gart_fleet_free(gart_fleet* fleet);
GART_C_API size_t gart_fleet_input_count(const gart_fleet* fleet);
GART_C_API const char* gart_fleet_input_name(const gart_fleet* fleet, size_t index); /* NULL past the end */
GART_C_API const char* gart_fleet_output_name(const gart_fleet* fleet, size_t index);
GART_C_API const char* gart_fleet_value_name(const gart_fleet* fleet, size_t index); /* values for gart_fleet_fetch */
/* Both functions write up to `capacity` entries and return the total number. */
GART_C_API size_t gart_fleet_places(const gart_fleet* fleet, gart_group_place* places, size_t capacity);
GART_C_API size_t gart_fleet_times(const gart_fleet* fleet, gart_group_time* times, size_t capacity);

/* The time of a request from its start to its end: microseconds, median of the requests that ran the whole model. */
GART_C_API double gart_fleet_run_us(const gart_fleet* fleet);
GART_C_API void gart_fleet_forget_times(const gart_fleet* fleet);

GART_C_API gart_status gart_fleet_request_new(const gart_fleet* fleet, gart_fleet_request** request);
GART_C_API void gart_fleet_request_free(gart_fleet_request* request); /* waits for a run in progress */
GART_C_API gart_status gart_fleet_set_input(gart_fleet_request* request, const char* name, const gart_tensor* tensor);
/* Runs compute these values instead of the outputs; count 0: the outputs again. */
GART_C_API gart_status gart_fleet_fetch(gart_fleet_request* request, const char* const* names, size_t count);
GART_C_API gart_status gart_fleet_start(gart_fleet_request* request);
GART_C_API gart_status gart_fleet_wait(gart_fleet_request* request);
/* Makes the current run, or the next one if there is none, fail before its next part. Any thread may call it. NULL is
   allowed. */
GART_C_API void gart_fleet_cancel(gart_fleet_request* request);
GART_C_API int gart_fleet_ready(const gart_fleet_request* request); /* 1: gart_fleet_wait will not wait */
GART_C_API size_t gart_fleet_output_count(const gart_fleet_request* request);
GART_C_API gart_status gart_fleet_get_output(const gart_fleet_request* request, size_t index, gart_tensor* tensor);

/* A process's place in a job of several processes; see hosts.hpp. `silence_ms`: a rank that does not answer for so long
   is lost; 0: 1000. */
GART_C_API gart_status gart_hosts_join(int silence_ms, gart_hosts** hosts);
/* On rank 0: ends gart_hosts_serve on the other ranks, once all fleets with these hosts are freed, too. */
GART_C_API void gart_hosts_free(gart_hosts* hosts);
GART_C_API int gart_hosts_rank(const gart_hosts* hosts); /* -1 for NULL */
GART_C_API int gart_hosts_size(const gart_hosts* hosts); /* 0 for NULL */
/* On all ranks but 0: runs parts until rank 0 leaves the job. */
GART_C_API gart_status gart_hosts_serve(const gart_hosts* hosts);

/* A device that programs share, and its work; see manager.hpp. */
typedef struct gart_device_load {
  const char* device; /* valid until the next gart_manager_devices on this thread */
  int busy, programs, groups;
  double work_us;
  int64_t memory, weight_bytes, value_bytes;
} gart_device_load;

/* Devices that programs share. Device `devices[i]` has `bytes[i]` for the weights and values of all of them. */
GART_C_API gart_status gart_manager_open(const char* const* devices, const int64_t* bytes, size_t count,
                                         gart_manager** manager);
GART_C_API void gart_manager_free(gart_manager* manager); /* fleets keep the queues that they use */
/* Fills at most `capacity` rows and returns how many devices there are. */
GART_C_API size_t gart_manager_devices(const gart_manager* manager, gart_device_load* loads, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif
