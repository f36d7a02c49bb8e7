// The C API: the C++ API with Results turned into status codes and a sentence per thread.
#include <cstddef>
#include <cstring>

#include "gart/gart.h"
#include "gart/gart.hpp"
#include "runtime/errors.h"

struct gart_program {
  gart::Program program;
};
struct gart_invocation {
  gart::Invocation invocation;
};

namespace {

using gart::DType;
using gart::error;
using gart::Error;
using gart::ErrorCode;
using gart::fail;
using gart::Result;

static_assert(GART_BOOL == static_cast<int>(DType::boolean) && GART_U2 == static_cast<int>(DType::u2) &&
              GART_MAX_RANK == gart::kMaxRank);
static_assert(GART_CANCELLED == static_cast<int>(ErrorCode::cancelled) &&
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

gart::LoadOptions options_of(const gart_load_options* options) {
  gart::LoadOptions out;
  if (options == nullptr) return out;
  out.verify = options->skip_verify == 0;
  out.threads = options->threads;
  if (options->device != nullptr) out.device = options->device;
  if (options->target != nullptr) out.target = options->target;
  out.blocking = options->blocking != 0;
  if (options->size >= offsetof(gart_load_options, custom_op_count) + sizeof(size_t)) {
    out.custom_ops = {options->custom_ops, options->custom_op_count};
  }
  if (options->size >= offsetof(gart_load_options, replicas) + sizeof(int)) {
    out.parallel = {options->intra, options->inter, options->replicas};
  }
  return out;
}

gart_status hand_out(Result<gart::Program> loaded, gart_program** program) {
  if (!loaded) return status_of(loaded.error());
  *program = new (std::nothrow) gart_program{std::move(*loaded)};
  return *program != nullptr ? GART_OK : status_of(Error{ErrorCode::out_of_memory, "out of memory"});
}

gart::TensorView view_of(const gart_tensor& tensor) {
  if (tensor.rank > GART_MAX_RANK) {
    fail(ErrorCode::invalid_argument, "the tensor has rank ", tensor.rank, ", the limit is ", GART_MAX_RANK);
  }
  const gart::Shape shape(std::span<const int64_t>(tensor.dims, tensor.rank));
  return {tensor.data, static_cast<DType>(tensor.dtype), shape, tensor.device == nullptr ? "cpu" : tensor.device};
}

/// Key: an index or a name.
template <class Key>
gart_status set_input(gart_invocation* invocation, Key key, const gart_tensor* tensor) {
  if (invocation == nullptr || tensor == nullptr)
    return status_of(null_argument(invocation == nullptr ? "invocation" : "tensor"));
  const Result<gart::TensorView> view = gart::guarded([&] { return view_of(*tensor); });
  return status_of(view ? invocation->invocation.set_input(key, *view) : Result<void>(view.error()));
}

const gart::TensorInfo* info_at(std::span<const gart::TensorInfo> infos, size_t index) {
  return index < infos.size() ? &infos[index] : nullptr;
}
const char* name_at(std::span<const gart::TensorInfo> infos, size_t index) {
  const gart::TensorInfo* info = info_at(infos, index);
  return info == nullptr ? nullptr : info->name.c_str();
}
gart_dtype dtype_at(std::span<const gart::TensorInfo> infos, size_t index) {
  const gart::TensorInfo* info = info_at(infos, index);
  return info == nullptr ? GART_UNDEFINED : static_cast<gart_dtype>(info->dtype);
}
size_t rank_at(std::span<const gart::TensorInfo> infos, size_t index) {
  const gart::TensorInfo* info = info_at(infos, index);
  return info == nullptr ? 0 : info->dims.size();
}
const char* dim_at(std::span<const gart::TensorInfo> infos, size_t index, size_t axis) {
  const gart::TensorInfo* info = info_at(infos, index);
  return info == nullptr || axis >= info->dims.size() ? nullptr : info->dims[axis].c_str();
}

std::span<const gart::TensorInfo> inputs_of(const gart_program* program) {
  return program == nullptr ? std::span<const gart::TensorInfo>() : program->program.inputs();
}
std::span<const gart::TensorInfo> outputs_of(const gart_program* program) {
  return program == nullptr ? std::span<const gart::TensorInfo>() : program->program.outputs();
}

}  // namespace

const char* gart_last_error(void) { return last_error.c_str(); }

gart_status gart_load(const char* path, const gart_load_options* options, gart_program** program) {
  if (path == nullptr || program == nullptr) return status_of(null_argument(path == nullptr ? "path" : "program"));
  *program = nullptr;
  return hand_out(gart::guarded([&] { return value_or_fail(gart::load(std::string(path), options_of(options))); }),
                  program);
}

gart_status gart_load_memory(const void* bytes, size_t size, const gart_load_options* options, gart_program** program) {
  if (bytes == nullptr || program == nullptr) return status_of(null_argument(bytes == nullptr ? "bytes" : "program"));
  *program = nullptr;
  const std::span<const uint8_t> artifact(static_cast<const uint8_t*>(bytes), size);
  return hand_out(gart::guarded([&] { return value_or_fail(gart::load(artifact, options_of(options))); }), program);
}

void gart_program_free(gart_program* program) { delete program; }

size_t gart_input_count(const gart_program* program) { return inputs_of(program).size(); }
size_t gart_output_count(const gart_program* program) { return outputs_of(program).size(); }
const char* gart_input_name(const gart_program* program, size_t index) { return name_at(inputs_of(program), index); }
const char* gart_output_name(const gart_program* program, size_t index) { return name_at(outputs_of(program), index); }
gart_dtype gart_input_dtype(const gart_program* program, size_t index) { return dtype_at(inputs_of(program), index); }
gart_dtype gart_output_dtype(const gart_program* program, size_t index) { return dtype_at(outputs_of(program), index); }
size_t gart_input_rank(const gart_program* program, size_t index) { return rank_at(inputs_of(program), index); }
size_t gart_output_rank(const gart_program* program, size_t index) { return rank_at(outputs_of(program), index); }
const char* gart_input_dim(const gart_program* program, size_t index, size_t axis) {
  return dim_at(inputs_of(program), index, axis);
}
const char* gart_output_dim(const gart_program* program, size_t index, size_t axis) {
  return dim_at(outputs_of(program), index, axis);
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
const char* gart_device(const gart_program* program) {
  return program == nullptr ? nullptr : program->program.device().c_str();
}

gart_status gart_invocation_new(const gart_program* program, const char* entry, gart_invocation** invocation) {
  if (program == nullptr || invocation == nullptr) {
    return status_of(null_argument(program == nullptr ? "program" : "invocation"));
  }
  *invocation = nullptr;
  Result<gart::Invocation> made = program->program.new_invocation(entry == nullptr ? "" : entry);
  if (!made) return status_of(made.error());
  *invocation = new (std::nothrow) gart_invocation{std::move(*made)};
  return *invocation != nullptr ? GART_OK : status_of(Error{ErrorCode::out_of_memory, "out of memory"});
}

void gart_invocation_free(gart_invocation* invocation) { delete invocation; }

gart_status gart_set_input(gart_invocation* invocation, size_t index, const gart_tensor* tensor) {
  return set_input(invocation, index, tensor);
}

gart_status gart_set_input_by_name(gart_invocation* invocation, const char* name, const gart_tensor* tensor) {
  if (name == nullptr) return status_of(null_argument("name"));
  return set_input(invocation, std::string_view(name), tensor);
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
  if (view.dtype == DType::undefined) {
    return status_of(error(ErrorCode::invalid_argument, "there is no output ", index, ", or no run has succeeded yet"));
  }
  *tensor = {view.data, static_cast<gart_dtype>(view.dtype), view.shape.rank(), {}, view.device};
  const std::span<const int64_t> extents = view.shape.extents();
  std::memcpy(tensor->dims, extents.data(), extents.size_bytes());
  return GART_OK;
}
