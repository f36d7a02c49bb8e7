// The C API: the C++ API with Results turned into status codes and a message per thread.
#include <cstddef>

#include "gart/generate.h"
#include "gart/generate.hpp"
#include "runtime/api/c_handles.h"
#include "runtime/c_status.h"
#include "runtime/errors.h"

struct gart_generator {
  gart::Generator generator;
  gart::Generated last;
};

namespace {

using gart::ErrorCode;
using gart::fail;
using gart::require;
using gart::status_of;
using gart::value_or_fail;

thread_local std::string last_error;

gart::GenerateOptions options_of(const gart_generate_options* options) {
  gart::GenerateOptions out;
  if (options == nullptr) return out;
  constexpr size_t kFirst = offsetof(gart_generate_options, lookup);  // the size of the struct in its first version
  if (options->size < kFirst) {
    fail(ErrorCode::invalid_argument, "gart_generate_options has ", options->size, " bytes by its member `size`, but ",
         kFirst, " are needed");
  }
  if (options->max_tokens != 0) out.max_tokens = options->max_tokens;
  out.temperature = options->temperature;
  out.top_k = options->top_k;
  if (options->top_p != 0) out.top_p = options->top_p;
  out.min_p = options->min_p;
  if (options->repetition_penalty != 0) out.repetition_penalty = options->repetition_penalty;
  out.presence_penalty = options->presence_penalty;
  out.seed = options->seed;
  if (options->stop_id_count > 0) require(options->stop_ids);
  out.stop_ids.assign(options->stop_ids, options->stop_ids + options->stop_id_count);
  out.chunk = options->chunk;
  if (options->size >= sizeof(gart_generate_options)) out.lookup = options->lookup;
  return out;
}

std::string name_of(const char* text) { return text == nullptr ? "" : text; }

}  // namespace

const char* gart_generate_last_error(void) { return last_error.c_str(); }

gart_status gart_generator_new(const gart_program* program, const gart_session* session, const char* decode,
                               const char* prefill, gart_generator** generator) {
  return status_of(last_error, [&] {
    require(program, session, generator);
    *generator = nullptr;
    *generator = new gart_generator{
        value_or_fail(gart::Generator::create(program->program, session->session, {name_of(decode), name_of(prefill)})),
        {}};
  });
}

void gart_generator_free(gart_generator* generator) { delete generator; }

gart_status gart_generate(gart_generator* generator, const int64_t* ids, size_t count,
                          const gart_generate_options* options, gart_on_token on_token, void* user,
                          gart_generated* result) {
  return status_of(last_error, [&] {
    require(generator);
    if (count > 0) require(ids);
    std::function<bool(int64_t)> each;
    if (on_token != nullptr) each = [&](int64_t id) { return on_token(user, id) != 0; };
    generator->last = {};
    generator->last = value_or_fail(generator->generator.generate({ids, count}, options_of(options), each));
    const gart::Generated& last = generator->last;
    if (result == nullptr) return;
    *result = {last.ids.size(), static_cast<gart_stop_reason>(last.reason), last.first_token_ms, last.total_ms};
  });
}

int64_t gart_generated_id(const gart_generator* generator, size_t index) {
  return generator != nullptr && index < generator->last.ids.size() ? generator->last.ids[index] : -1;
}

gart_status gart_generator_length(const gart_generator* generator, int64_t* length) {
  return status_of(last_error, [&] {
    require(generator, length);
    *length = value_or_fail(generator->generator.length());
  });
}

void gart_generator_cancel(gart_generator* generator) {
  if (generator != nullptr) generator->generator.cancel();
}
