// Streams, events, host functions on streams.
#include "tests/cuda/sim/driver/graph.h"

using namespace gart_sim;

GART_SIM_API cuStreamCreateWithPriority(void** out, unsigned flags, int) {
  GART_SIM_CALL("cuStreamCreateWithPriority");
  if (!out || flags > 1) return call.misuse("no place for the stream, or unknown flags");
  *out = world.streams.add(std::make_unique<Stream>(Stream{call.context_of()}));
  return 0;
}

GART_SIM_API cuStreamCreate(void** out, unsigned flags) {
  GART_SIM_CALL("cuStreamCreate");
  return cuStreamCreateWithPriority(out, flags, 0);
}

GART_SIM_API cuStreamDestroy_v2(void* handle) {
  GART_SIM_CALL("cuStreamDestroy_v2");
  Stream* stream = world.streams.find(handle);
  if (!stream) return call.misuse("the stream is not alive", kInvalidHandle);
  world.streams.remove(stream);
  return 0;
}

GART_SIM_API cuStreamSynchronize(void* handle) {
  GART_SIM_CALL("cuStreamSynchronize");
  Stream* stream = call.stream(handle);
  if (!stream) return call.misuse("the stream is not alive", kInvalidHandle);
  return wait_for(call.context_of(), stream->last);
}

// Each query lets the device do a part of the pending work, never all of it.
GART_SIM_API cuStreamQuery(void* handle) {
  GART_SIM_CALL("cuStreamQuery");
  Stream* stream = call.stream(handle);
  if (!stream) return call.misuse("the stream is not alive", kInvalidHandle);
  if (const int error = advance(call.context_of())) return error;
  return stream->context->queue.is_done(stream->last) ? wait_for(call.context_of(), stream->last) : kNotReady;
}

GART_SIM_API cuStreamWaitEvent(void* handle, void* event_handle, unsigned flags) {
  GART_SIM_CALL("cuStreamWaitEvent");
  Stream* stream = call.stream(handle);
  Event* event = world.events.find(event_handle);
  if (!stream || !event || flags > 1) return call.misuse("the stream or the event is not alive", kInvalidHandle);
  if (!event->is_recorded) return 0;
  stream->last = stream->context->queue.add("wait for an event", {stream->last, event->operation}, nullptr);
  return 0;
}

GART_SIM_API cuEventCreate(void** out, unsigned flags) {
  GART_SIM_CALL("cuEventCreate");
  if (!out || flags > 7) return call.misuse("no place for the event, or unknown flags");
  *out = world.events.add(std::make_unique<Event>(Event{call.context_of(), (flags & 2) == 0}));
  return 0;
}

GART_SIM_API cuEventDestroy_v2(void* handle) {
  GART_SIM_CALL("cuEventDestroy_v2");
  Event* event = world.events.find(handle);
  if (!event) return call.misuse("the event is not alive", kInvalidHandle);
  world.events.remove(event);
  return 0;
}

GART_SIM_API cuEventRecord(void* handle, void* stream_handle) {
  GART_SIM_CALL("cuEventRecord");
  Event* event = world.events.find(handle);
  Stream* stream = call.stream(stream_handle);
  if (!event || !stream) return call.misuse("the event or the stream is not alive", kInvalidHandle);
  if (event->context != stream->context) return call.misuse("event and stream are of different contexts");
  event->is_recorded = true;
  event->operation = stream->last;
  event->recorded_at = world.counts["calls"];
  return 0;
}

GART_SIM_API cuEventQuery(void* handle) {
  GART_SIM_CALL("cuEventQuery");
  Event* event = world.events.find(handle);
  if (!event) return call.misuse("the event is not alive", kInvalidHandle);
  if (const int error = advance(call.context_of())) return error;
  if (!event->context->queue.is_done(event->operation)) return kNotReady;
  return event->is_recorded ? wait_for(call.context_of(), event->operation) : 0;
}

GART_SIM_API cuEventSynchronize(void* handle) {
  GART_SIM_CALL("cuEventSynchronize");
  Event* event = world.events.find(handle);
  if (!event) return call.misuse("the event is not alive", kInvalidHandle);
  return event->is_recorded ? wait_for(call.context_of(), event->operation) : 0;
}

// Time counted in driver calls: only its order is meaningful.
GART_SIM_API cuEventElapsedTime(float* milliseconds, void* from_handle, void* to_handle) {
  GART_SIM_CALL("cuEventElapsedTime");
  const Event *from = world.events.find(from_handle), *to = world.events.find(to_handle);
  if (!milliseconds || !from || !to) return call.misuse("an event is not alive", kInvalidHandle);
  if (!from->is_recorded || !to->is_recorded || !from->has_timing || !to->has_timing) {
    return call.misuse("an event is not recorded, or made without timing", kInvalidHandle);
  }
  if (!to->context->queue.is_done(to->operation)) return kNotReady;
  *milliseconds = 1e-3f * static_cast<float>(to->recorded_at - from->recorded_at);
  return 0;
}

GART_SIM_API cuLaunchHostFunc(void* handle, void (*function)(void*), void* data) {
  GART_SIM_CALL("cuLaunchHostFunc");
  Stream* stream = call.stream(handle);
  if (!stream || !function) return call.misuse("the stream is not alive, or no function");
  const HostWork work = {function, data};
  enqueue(*stream, "host function", [work](Footprint&) { return work.run(); });
  return 0;
}
