// The C API: wraps the C++ API and turns Results into status codes and one message per thread.
#include <cstddef>
#include <cstring>

#include "gart/gart.h"
#include "gart/gart.hpp"
#include "runtime/api/c_handles.h"
#include "runtime/errors.h"

namespace {

using gart::DType;
using gart::error;
using gart::Error;
using gart::ErrorCode;
using gart::fail;
using gart::Result;

static_assert(GART_BOOL == static_cast<int>(DType::boolean) && GART_U2 == static_cast<int>(DType::u2) &&
              GART_STRING == static_cast<int>(DType::string) && GART_MAX_RANK == gart::kMaxRank);
static_assert(GART_UNTRUSTED == static_cast<int>(ErrorCode::untrusted) &&
              GART_RUN_FAILED == static_cast<int>(ErrorCode::run_failed) &&
              GART_DEVICE_LOST == static_cast<int>(ErrorCode::device_lost));

thread_local std::string last_error;

gart_status status_of(const Error& failure) {
  try {
    last_error = failure.message;
  } catch (...) {
    last_error.clear();
  }
  return static_cast<gart_status>(failure.code);
}

gart_status status_of(const Result<void>& result) { return result ? GART_OK : status_of(result.error()); }

Error null_argument(const char* name) { return error(ErrorCode::invalid_argument, "argument '", name, "' is null"); }

using Texts = std::vector<std::string_view>;
const Texts& views_of(const char* const* texts, size_t count, Texts& views) {
  views = Texts(count);
  for (size_t i = 0; i < count; ++i) views[i] = texts[i];
  return views;
}

/// The result refers to `entry_points` and `trusted_keys`, which this function fills.
gart::LoadOptions options_of(const gart_load_options* options, Texts& entry_points, Texts& trusted_keys) {
  gart::LoadOptions out;
  if (options == nullptr) return out;
  out.verify = options->skip_verify == 0;
  out.threads = options->threads;
  if (options->device != nullptr) out.device = options->device;
  if (options->target != nullptr) out.target = options->target;
  out.blocking = options->blocking != 0;
  if (options->size >= offsetof(gart_load_options, custom_op_count) + sizeof(size_t))
    out.custom_ops = {options->custom_ops, options->custom_op_count};
  if (options->size >= offsetof(gart_load_options, replicas) + sizeof(int))
    out.parallel = {options->intra, options->inter, options->replicas};
  if (options->size >= offsetof(gart_load_options, entry_point_count) + sizeof(size_t))
    out.entry_points = views_of(options->entry_points, options->entry_point_count, entry_points);
  if (options->size >= offsetof(gart_load_options, no_spin) + sizeof(int)) out.spin = options->no_spin == 0;
  if (options->size >= offsetof(gart_load_options, refuse_runs) + sizeof(int)) {
    out.runs = options->runs;
    out.refuse_runs = options->refuse_runs != 0;
  }
  if (options->size >= offsetof(gart_load_options, signature_size) + sizeof(size_t)) {
    out.trusted_keys = views_of(options->trusted_keys, options->trusted_key_count, trusted_keys);
    out.signature = {static_cast<const uint8_t*>(options->signature), options->signature_size};
  }
  return out;
}

/// `path` is null for an artifact in memory.
Result<gart::Program> loaded(const char* path, std::span<const uint8_t> bytes, const gart_load_options* options) {
  return gart::guarded([&] {
    Texts entry_points, trusted_keys;
    const gart::LoadOptions wanted = options_of(options, entry_points, trusted_keys);
    return value_or_fail(path != nullptr ? gart::load(path, wanted) : gart::load(bytes, wanted));
  });
}

gart_status hand_out(Result<gart::Program> loaded, gart_program** program) {
  if (!loaded) return status_of(loaded.error());
  const Result<gart_program*> owned = gart::guarded([&] { return new gart_program{*loaded, loaded->entry_points()}; });
  if (owned) *program = *owned;
  return owned ? GART_OK : status_of(owned.error());
}

/// Moves the result into a new Handle; null on failure.
template <class Handle, class T>
gart_status hand_out(Result<T> result, Handle** handle) {
  *handle = nullptr;
  if (!result) return status_of(result.error());
  *handle = new (std::nothrow) Handle{std::move(*result)};
  return *handle != nullptr ? GART_OK : status_of(Error{ErrorCode::out_of_memory, "out of memory"});
}

gart::TensorView view_of(const gart_tensor& tensor) {
  if (tensor.rank > GART_MAX_RANK)
    fail(ErrorCode::invalid_argument, "the tensor has rank ", tensor.rank, ", the limit is ", GART_MAX_RANK);
  const gart::Shape shape(std::span<const int64_t>(tensor.dims, tensor.rank));
  return {tensor.data, static_cast<DType>(tensor.dtype), shape, tensor.device == nullptr ? "cpu" : tensor.device};
}

/// Passes the tensor to `set`, which sets an input or a state of `owner`. `key`: its index or name.
gart_status set_tensor(void* owner, const void* key, const gart_tensor* tensor,
                       Result<void> (*set)(void* owner, const void* key, const gart::TensorView& view)) {
  if (owner == nullptr || key == nullptr || tensor == nullptr)
    return status_of(null_argument(owner == nullptr ? "handle" : key == nullptr ? "name" : "tensor"));
  return status_of(gart::guarded([&] {
    if (const Result<void> done = set(owner, key, view_of(*tensor)); !done) throw gart::Failure{done.error()};
  }));
}

std::string_view name_at(const void* key) { return static_cast<const char*>(key); }

const gart_tensor_info* info_at(std::span<const gart::TensorInfo> infos, size_t index) {
  return index < infos.size() ? reinterpret_cast<const gart_tensor_info*>(&infos[index]) : nullptr;
}
const gart::TensorInfo& info_of(const gart_tensor_info* info) {
  return *reinterpret_cast<const gart::TensorInfo*>(info);
}

std::string_view entry_name(const char* entry) { return entry == nullptr ? "" : entry; }

gart_status give(const gart::TensorView& view, gart_tensor* tensor) {
  *tensor = {view.data, static_cast<gart_dtype>(view.dtype), view.shape.rank(), {}, view.device};
  const std::span<const int64_t> extents = view.shape.extents();
  std::memcpy(tensor->dims, extents.data(), extents.size_bytes());
  return GART_OK;
}

/// Copies a state's elements to `data`, if that is not null, and describes them in `*tensor`.
gart_status give_state(const Result<gart::Tensor>& value, const char* name, void* data, size_t bytes,
                       gart_tensor* tensor) {
  if (!value) return status_of(value.error());
  if (data != nullptr && bytes < value->bytes()) {
    return status_of(error(ErrorCode::invalid_argument, "state '", name, "' has ", value->bytes(),
                           " bytes, but there is room for ", bytes));
  }
  if (data != nullptr && value->bytes() > 0) std::memcpy(data, value->data(), value->bytes());
  return give({data, value->dtype(), value->shape(), "cpu"}, tensor);
}

}  // namespace

const char* gart_last_error(void) { return last_error.c_str(); }

gart_status gart_load(const char* path, const gart_load_options* options, gart_program** program) {
  if (path == nullptr || program == nullptr) return status_of(null_argument(path == nullptr ? "path" : "program"));
  *program = nullptr;
  return hand_out(loaded(path, {}, options), program);
}

gart_status gart_load_memory(const void* bytes, size_t size, const gart_load_options* options, gart_program** program) {
  if (bytes == nullptr || program == nullptr) return status_of(null_argument(bytes == nullptr ? "bytes" : "program"));
  *program = nullptr;
  const std::span<const uint8_t> artifact(static_cast<const uint8_t*>(bytes), size);
  return hand_out(loaded(nullptr, artifact, options), program);
}

void gart_program_free(gart_program* program) { delete program; }

size_t gart_input_count(const gart_program* program) {
  return program == nullptr ? 0 : program->program.inputs().size();
}
size_t gart_output_count(const gart_program* program) {
  return program == nullptr ? 0 : program->program.outputs().size();
}
const char* gart_input_name(const gart_program* program, size_t index) {
  return gart_info_name(gart_entry_input(program, nullptr, index));
}
const char* gart_output_name(const gart_program* program, size_t index) {
  return gart_info_name(gart_entry_output(program, nullptr, index));
}
gart_dtype gart_input_dtype(const gart_program* program, size_t index) {
  return gart_info_dtype(gart_entry_input(program, nullptr, index));
}
gart_dtype gart_output_dtype(const gart_program* program, size_t index) {
  return gart_info_dtype(gart_entry_output(program, nullptr, index));
}
size_t gart_input_rank(const gart_program* program, size_t index) {
  return gart_info_rank(gart_entry_input(program, nullptr, index));
}
size_t gart_output_rank(const gart_program* program, size_t index) {
  return gart_info_rank(gart_entry_output(program, nullptr, index));
}
const char* gart_input_dim(const gart_program* program, size_t index, size_t axis) {
  return gart_info_dim(gart_entry_input(program, nullptr, index), axis);
}
const char* gart_output_dim(const gart_program* program, size_t index, size_t axis) {
  return gart_info_dim(gart_entry_output(program, nullptr, index), axis);
}

const char* gart_entry_point(const gart_program* program, size_t index) {
  return program == nullptr || index >= program->entry_points.size() ? nullptr : program->entry_points[index].c_str();
}
const gart_tensor_info* gart_entry_input(const gart_program* program, const char* entry, size_t index) {
  return program == nullptr ? nullptr : info_at(program->program.inputs(entry_name(entry)), index);
}
const gart_tensor_info* gart_entry_output(const gart_program* program, const char* entry, size_t index) {
  return program == nullptr ? nullptr : info_at(program->program.outputs(entry_name(entry)), index);
}
const char* gart_entry_label(const gart_program* program, const char* entry, size_t output, size_t number) {
  return program == nullptr ? nullptr : program->program.label(output, number, entry_name(entry));
}
const char* gart_info_name(const gart_tensor_info* info) {
  return info == nullptr ? nullptr : info_of(info).name.c_str();
}
gart_dtype gart_info_dtype(const gart_tensor_info* info) {
  return info == nullptr ? GART_UNDEFINED : static_cast<gart_dtype>(info_of(info).dtype);
}
size_t gart_info_rank(const gart_tensor_info* info) { return info == nullptr ? 0 : info_of(info).dims.size(); }
const char* gart_info_dim(const gart_tensor_info* info, size_t axis) {
  return axis >= gart_info_rank(info) ? nullptr : info_of(info).dims[axis].c_str();
}

const char* gart_info_string(const gart_tensor_info* info, size_t number) {
  return info == nullptr || number >= info_of(info).strings.size() ? nullptr : info_of(info).strings[number].c_str();
}

const char* gart_output_label(const gart_program* program, size_t index, size_t number) {
  return program == nullptr ? nullptr : program->program.label(index, number);
}
const char* gart_metadata(const gart_program* program, size_t index) {
  return program == nullptr ? nullptr : program->program.metadata(index);
}
const char* gart_target(const gart_program* program) {
  return program == nullptr ? nullptr : program->program.target().c_str();
}
int gart_threads(const gart_program* program) { return program == nullptr ? 0 : program->program.threads(); }
const char* gart_device(const gart_program* program) {
  return program == nullptr ? nullptr : program->program.device().c_str();
}

gart_status gart_invocation_new(const gart_program* program, const char* entry, gart_invocation** invocation) {
  if (program == nullptr || invocation == nullptr)
    return status_of(null_argument(program == nullptr ? "program" : "invocation"));
  return hand_out<gart_invocation>(program->program.new_invocation(entry_name(entry)), invocation);
}

void gart_invocation_free(gart_invocation* invocation) { delete invocation; }

gart_status gart_set_input(gart_invocation* invocation, size_t index, const gart_tensor* tensor) {
  return set_tensor(invocation, &index, tensor, [](void* owner, const void* key, const gart::TensorView& view) {
    return static_cast<gart_invocation*>(owner)->invocation.set_input(*static_cast<const size_t*>(key), view);
  });
}

gart_status gart_set_input_by_name(gart_invocation* invocation, const char* name, const gart_tensor* tensor) {
  return set_tensor(invocation, name, tensor, [](void* owner, const void* key, const gart::TensorView& view) {
    return static_cast<gart_invocation*>(owner)->invocation.set_input(name_at(key), view);
  });
}

gart_status gart_set_output(gart_invocation* invocation, size_t index, void* data, size_t bytes, gart_dtype dtype) {
  return gart_set_output_on(invocation, index, data, bytes, dtype, nullptr);
}

gart_status gart_set_output_on(gart_invocation* invocation, size_t index, void* data, size_t bytes, gart_dtype dtype,
                               const char* device) {
  if (invocation == nullptr) return status_of(null_argument("invocation"));
  const char* place = device == nullptr ? "cpu" : device;
  return status_of(invocation->invocation.set_output(index, {data, bytes, static_cast<DType>(dtype), place}));
}

gart_status gart_set_output_by_name(gart_invocation* invocation, const char* name, void* data, size_t bytes,
                                    gart_dtype dtype, const char* device) {
  if (invocation == nullptr || name == nullptr)
    return status_of(null_argument(invocation == nullptr ? "invocation" : "name"));
  const char* place = device == nullptr ? "cpu" : device;
  return status_of(
      invocation->invocation.set_output(std::string_view(name), {data, bytes, static_cast<DType>(dtype), place}));
}

gart_status gart_run(gart_invocation* invocation) {
  if (invocation == nullptr) return status_of(null_argument("invocation"));
  return status_of(invocation->invocation.run());
}

gart_status gart_run_async(gart_invocation* invocation, void* stream) {
  if (invocation == nullptr) return status_of(null_argument("invocation"));
  return status_of(invocation->invocation.run_async(stream));
}

gart_status gart_wait(gart_invocation* invocation) {
  if (invocation == nullptr) return status_of(null_argument("invocation"));
  return status_of(invocation->invocation.wait());
}

void gart_cancel(gart_invocation* invocation) {
  if (invocation != nullptr) invocation->invocation.cancel();
}

gart_status gart_get_output(const gart_invocation* invocation, size_t index, gart_tensor* tensor) {
  if (invocation == nullptr || tensor == nullptr)
    return status_of(null_argument(invocation == nullptr ? "invocation" : "tensor"));
  const gart::TensorView view = invocation->invocation.output(index);
  if (view.dtype == DType::undefined)
    return status_of(error(ErrorCode::invalid_argument, "there is no output ", index, ", or no run has succeeded yet"));
  return give(view, tensor);
}

gart_status gart_get_output_by_name(const gart_invocation* invocation, const char* name, gart_tensor* tensor) {
  if (name == nullptr) return status_of(null_argument("name"));
  if (invocation == nullptr || tensor == nullptr)
    return status_of(null_argument(invocation == nullptr ? "invocation" : "tensor"));
  const gart::TensorView view = invocation->invocation.output(name);
  if (view.dtype == DType::undefined) {
    return status_of(
        error(ErrorCode::invalid_argument, "there is no output '", name, "', or no run has succeeded yet"));
  }
  return give(view, tensor);
}

const gart_tensor_info* gart_program_state_info(const gart_program* program, size_t index) {
  return program == nullptr ? nullptr : info_at(program->program.program_states(), index);
}

gart_status gart_program_get_state(const gart_program* program, const char* name, void* data, size_t bytes,
                                   gart_tensor* tensor) {
  if (program == nullptr || name == nullptr || tensor == nullptr)
    return status_of(null_argument(program == nullptr ? "program" : name == nullptr ? "name" : "tensor"));
  return give_state(program->program.state(name), name, data, bytes, tensor);
}

gart_status gart_program_set_state(gart_program* program, const char* name, const gart_tensor* value) {
  return set_tensor(program, name, value, [](void* owner, const void* key, const gart::TensorView& view) {
    return static_cast<gart_program*>(owner)->program.set_state(name_at(key), view);
  });
}

gart_status gart_program_save_states(const gart_program* program, const char* path) {
  if (program == nullptr || path == nullptr) return status_of(null_argument(program == nullptr ? "program" : "path"));
  return status_of(program->program.save_states(path));
}

gart_status gart_program_load_states(gart_program* program, const char* path) {
  if (program == nullptr || path == nullptr) return status_of(null_argument(program == nullptr ? "program" : "path"));
  return status_of(program->program.load_states(path));
}

const gart_tensor_info* gart_state_info(const gart_program* program, size_t index) {
  return program == nullptr ? nullptr : info_at(program->program.states(), index);
}

gart_status gart_session_new(const gart_program* program, gart_session** session) {
  if (program == nullptr || session == nullptr)
    return status_of(null_argument(program == nullptr ? "program" : "session"));
  return hand_out<gart_session>(program->program.new_session(), session);
}

void gart_session_free(gart_session* session) { delete session; }

gart_status gart_session_invocation_new(const gart_session* session, const char* entry, gart_invocation** invocation) {
  if (session == nullptr || invocation == nullptr)
    return status_of(null_argument(session == nullptr ? "session" : "invocation"));
  return hand_out<gart_invocation>(session->session.new_invocation(entry_name(entry)), invocation);
}

gart_status gart_session_get_state(const gart_session* session, const char* name, void* data, size_t bytes,
                                   gart_tensor* tensor) {
  if (session == nullptr || name == nullptr || tensor == nullptr)
    return status_of(null_argument(session == nullptr ? "session" : name == nullptr ? "name" : "tensor"));
  return give_state(session->session.state(name), name, data, bytes, tensor);
}

gart_status gart_session_set_state(gart_session* session, const char* name, const gart_tensor* value) {
  return set_tensor(session, name, value, [](void* owner, const void* key, const gart::TensorView& view) {
    return static_cast<gart_session*>(owner)->session.set_state(name_at(key), view);
  });
}

gart_status gart_session_reset(gart_session* session) {
  return status_of(session == nullptr ? Result<void>(null_argument("session")) : session->session.reset());
}

gart_status gart_session_fork(const gart_session* session, gart_session** copy) {
  if (session == nullptr || copy == nullptr) return status_of(null_argument(session == nullptr ? "session" : "copy"));
  return hand_out<gart_session>(session->session.fork(), copy);
}

gart_status gart_session_save(const gart_session* session, const char* path) {
  if (session == nullptr || path == nullptr) return status_of(null_argument(session == nullptr ? "session" : "path"));
  return status_of(session->session.save(path));
}

gart_status gart_session_load(gart_session* session, const char* path) {
  if (session == nullptr || path == nullptr) return status_of(null_argument(session == nullptr ? "session" : "path"));
  return status_of(session->session.load(path));
}

gart_status gart_memory(const gart_invocation* invocation, gart_memory_info* memory) {
  if (invocation == nullptr || memory == nullptr)
    return status_of(null_argument(invocation == nullptr ? "invocation" : "memory"));
  const gart::MemoryInfo info = invocation->invocation.memory();
  *memory = {info.arena_bytes, info.arena_lower_bound_bytes, info.weight_bytes, info.code_bytes};
  return GART_OK;
}
