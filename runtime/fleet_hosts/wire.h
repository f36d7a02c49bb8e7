// The messages between rank 0 and the other ranks of a job. Rank 0 commands; all ranks run on machines of one byte
// order.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gart/gart.hpp"
#include "runtime/errors.h"

namespace gart::fleet {

/// Tags of messages. Each station (a device of a model on another rank) has a tag for its commands. The free tags serve
/// for answers and for the data of values.
enum Tag : int {
  kCommandTag = 1,
  kPongTag = 2,
  kHelloTag = 3,
  kFirstStationTag = 16,
  kFirstFreeTag = 4096,
  kLastTag = 32767
};

/// A command is one message from rank 0: this number, then the fields that the comment lists. `answer` is the tag of
/// the answer; its fields come after "->".
enum class Command : uint32_t {
  ping,   // no fields -> a message with kPongTag
  model,  // model, path, bytes, digest, options, tag of the file, tag of a second answer, answer -> whether rank 0 must
          // send the file
  station,   // station, model, device
  allocate,  // bytes, answer -> address, bytes
  release,   // address, bytes
  send,      // address, bytes, rank, tag: sends bytes of this rank's memory to `rank`
  receive,   // address, bytes, rank, tag, answer: receives bytes from `rank` into this rank's memory
  forget,    // model: releases it; its stations must be closed
  end,
  // For stations:
  load,  // parts, answer -> device and target in use
  run,   // part, inputs, outputs, answer -> dtype and shape of each output
  close,
};

/// Where the data of an input or output is.
enum class At : uint8_t {
  in_message,   // input: the bytes follow in this message
  on_the_way,   // a tag follows. Input: the bytes come in a message with this tag. Output: the bytes must be sent with
                // it; their limit follows the tag
  in_memory,    // the address in the rank's memory follows, and for an output the limit of its bytes
  not_decided,  // output of unknown size: it must be sent with the tag that follows
};

/// An address in a rank's memory, as a number in a message.
inline uint64_t number(const void* address) { return std::bit_cast<uintptr_t>(address); }
inline void* address(uint64_t number) { return std::bit_cast<void*>(uintptr_t(number)); }

/// Inputs of at most this many bytes are part of the command.
inline constexpr size_t kInMessage = 4096;

class Writer {
 public:
  template <class T>
    requires std::is_trivially_copyable_v<T>
  Writer& put(const T& value) {
    return raw(&value, sizeof value);
  }
  Writer& text(std::string_view text) { return put(uint64_t{text.size()}).raw(text.data(), text.size()); }
  Writer& raw(const void* data, size_t bytes) {
    const size_t at = bytes_.size();
    bytes_.resize(at + bytes);
    if (bytes > 0) std::memcpy(bytes_.data() + at, data, bytes);
    return *this;
  }
  Writer& shape(const Shape& shape) {
    put(uint32_t(shape.rank()));
    for (const int64_t extent : shape.extents()) put(extent);
    return *this;
  }
  std::span<const uint8_t> bytes() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

/// Reads the fields that a Writer wrote. Throws Failure if the message ends too early.
class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  template <class T>
    requires std::is_trivially_copyable_v<T>
  T get() {
    T value;
    std::memcpy(&value, raw(sizeof value), sizeof value);
    return value;
  }
  std::string text() {
    const auto bytes = get<uint64_t>();
    return {reinterpret_cast<const char*>(raw(bytes)), bytes};
  }
  const uint8_t* raw(uint64_t bytes) {
    if (bytes > bytes_.size()) fail(ErrorCode::run_failed, "a message of another rank ends too early");
    const uint8_t* const at = bytes_.data();
    bytes_ = bytes_.subspan(bytes);
    return at;
  }
  Shape shape() {
    std::vector<int64_t> extents(get<uint32_t>() % (kMaxRank + 1));
    for (int64_t& extent : extents) extent = get<int64_t>();
    return Shape(std::span<const int64_t>(extents));
  }

 private:
  std::span<const uint8_t> bytes_;
};

/// The size of a tensor's data. 0 if its shape is impossible.
inline size_t bytes_of(const TensorView& tensor) {
  return size_t(std::max<int64_t>(tensor.shape.elements(), 0)) * size_of(tensor.dtype);
}

/// An answer begins with 0, or with an error's code and message. Throws the error.
inline void check_answer(Reader& answer) {
  const auto code = answer.get<int32_t>();
  if (code != 0) throw Failure{{ErrorCode(code), answer.text()}};
}

inline Writer answer_of(const Error& error) {
  Writer out;
  out.put(int32_t(error.code)).text(std::string_view(error.message).substr(0, 2000));
  return out;
}

inline Writer good_answer() {
  Writer out;
  out.put(int32_t{0});
  return out;
}

}  // namespace gart::fleet
