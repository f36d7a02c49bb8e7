#include "runtime/generate/feed.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>

#include "runtime/errors.h"

namespace gart::detail {
namespace {

struct NamedKind {
  std::string_view name;
  FeedKind kind;
};

/// The names that exporters give to inputs: torch.onnx and transformers, optimum, onnxruntime-genai, mobius.
constexpr NamedKind kKinds[] = {
    {"input_ids", FeedKind::tokens},
    {"decoder_input_ids", FeedKind::tokens},
    {"tokens", FeedKind::tokens},
    {"attention_mask", FeedKind::mask},
    {"position_ids", FeedKind::positions},
    {"cache_position", FeedKind::positions},
    {"input_pos", FeedKind::positions},
    {"write_indices", FeedKind::past},
    {"past_seq_len", FeedKind::past},
    {"past_sequence_length", FeedKind::past},
    {"total_sequence_length", FeedKind::total},
    {"total_seq_len", FeedKind::total},
    {"nonpad_kv_seqlen", FeedKind::total},
    {"seqlens_k", FeedKind::last},
    {"use_cache_branch", FeedKind::has_past},
    {"num_logits_to_keep", FeedKind::one},
    {"logits_to_keep", FeedKind::one},
};

bool is_float(DType dtype) { return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16; }

bool is_integer(DType dtype) { return dtype == DType::i64 || dtype == DType::i32 || dtype == DType::boolean; }

bool fits(FeedKind kind, DType dtype, size_t rank) {
  switch (kind) {
    case FeedKind::tokens:
      return is_integer(dtype) && (rank == 1 || rank == 2);
    case FeedKind::mask:
      return (rank == 2 && (is_integer(dtype) || is_float(dtype))) ||
             (rank == 4 && (dtype == DType::boolean || is_float(dtype)));
    case FeedKind::positions:
      return is_integer(dtype) && rank >= 1 && rank <= 3;
    default:
      return is_integer(dtype) && rank <= 2;
  }
}

std::string known_names() {
  std::string out;
  for (const NamedKind& known : kKinds) out.append(out.empty() ? "" : ", ").append(known.name);
  return out;
}

/// The axis whose extent is the number of new tokens; -1: there is none.
int64_t token_axis(FeedKind kind, size_t rank) {
  if (kind == FeedKind::tokens || kind == FeedKind::positions) return int64_t(rank) - 1;
  return kind == FeedKind::mask && rank == 4 ? 2 : -1;
}

/// The text as a number; -1: it is not a number.
int64_t number(std::string_view text) {
  int64_t out = -1;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), out);
  return status == std::errc() && end == text.data() + text.size() ? out : -1;
}

void store(uint8_t* to, DType dtype, int64_t value) {
  const auto narrow = int32_t(value);
  if (dtype == DType::i64) std::memcpy(to, &value, sizeof value);
  if (dtype == DType::i32) std::memcpy(to, &narrow, sizeof narrow);
  if (dtype == DType::boolean) *to = value != 0;
}

/// The bits of 1, or of the most negative number.
void store_float(uint8_t* to, DType dtype, bool one) {
  const float wide = one ? 1 : std::numeric_limits<float>::lowest();
  const uint16_t bits = dtype == DType::f16 ? (one ? 0x3C00 : 0xFBFF) : (one ? 0x3F80 : 0xFF7F);
  if (dtype == DType::f32) {
    std::memcpy(to, &wide, sizeof wide);
  } else {
    std::memcpy(to, &bits, sizeof bits);
  }
}

}  // namespace

Feed::Feed(size_t index, const TensorInfo& info) : index_(index), name_(info.name), dtype_(info.dtype) {
  const auto* known = std::find_if(std::begin(kKinds), std::end(kKinds),
                                   [&](const NamedKind& k) { return k.name == std::string_view(info.name); });
  if (known == std::end(kKinds)) {
    fail(ErrorCode::unsupported, "input ", info.text(), " is not known to generate; known: ", known_names(),
         " (and states, which gcc-graph compile --state makes of caches)");
  }
  kind_ = known->kind;
  if (!fits(kind_, dtype_, info.dims.size())) {
    fail(ErrorCode::unsupported, "input ", info.text(),
         " has a type or rank that generate cannot supply for this name");
  }
  for (const std::string& dim : info.dims) fixed_.push_back(number(dim));
  // Some exporters declare the mask's extent as "past + 1": then each run reads one token.
  if (kind_ == FeedKind::mask) {
    const std::string_view extent = info.dims.back();
    const size_t plus = extent.rfind(" + ");
    if (plus != std::string_view::npos) tokens_per_run_ = std::max<int64_t>(number(extent.substr(plus + 3)), 0);
  }
  if (const int64_t axis = token_axis(kind_, fixed_.size()); axis >= 0 && fixed_[size_t(axis)] >= 0) {
    tokens_per_run_ = fixed_[size_t(axis)];
  }
}

void Feed::lay_out(int64_t past, int64_t tokens) {
  const int64_t axis = token_axis(kind_, fixed_.size());
  const bool spans_all = kind_ == FeedKind::mask;
  shape_.clear();
  int64_t elements = 1;
  for (size_t d = 0; d < fixed_.size(); ++d) {
    const bool is_last = spans_all && d + 1 == fixed_.size();
    const int64_t expected = is_last ? past + tokens : int64_t(d) == axis ? tokens : 1;
    // Several rows hold the same positions.
    const bool repeats = kind_ == FeedKind::positions && fixed_.size() == 3 && d == 0;
    const int64_t extent = fixed_[d] < 0 ? expected : fixed_[d];
    if (is_last && extent < expected) {
      fail(ErrorCode::run_failed, "input '", name_, "' has room for ", extent, " tokens; ", expected, " are too many");
    }
    if (!is_last && !repeats && extent != expected) {
      fail(ErrorCode::unsupported, "input '", name_, "' has the fixed extent ", extent, " along axis ", d, ", but ",
           expected, " is needed");
    }
    shape_.push_back(extent);
    elements *= extent;
  }
  bytes_.resize(size_t(elements) * size_of(dtype_));
}

void Feed::put(int64_t at, int64_t value) {
  if (dtype_ == DType::i32 && value > std::numeric_limits<int32_t>::max()) {
    fail(ErrorCode::invalid_argument, "input '", name_, "' is i32, but the value is ", value);
  }
  store(bytes_.data() + size_t(at) * size_of(dtype_), dtype_, value);
}

/// Writes an element of a mask. A mask of rank 2 has 1 or 0 per token. Other masks have true or false per score, or an
/// addend of the score.
void Feed::put_score(int64_t at, bool counts) {
  uint8_t* to = bytes_.data() + size_t(at) * size_of(dtype_);
  if (!is_float(dtype_)) return put(at, counts ? 1 : 0);
  if (shape_.size() == 2 ? !counts : counts) {
    std::memset(to, 0, size_of(dtype_));
  } else {
    store_float(to, dtype_, shape_.size() == 2);
  }
}

void Feed::fill_mask(int64_t past, int64_t tokens) {
  const int64_t width = shape_.back(), total = past + tokens;
  if (shape_.size() == 2) {  // elements that are 1 since the previous run stay
    if (total < ones_) std::fill(bytes_.begin(), bytes_.end(), uint8_t{0});
    for (int64_t i = total < ones_ ? 0 : ones_; i < total; ++i) put_score(i, true);
    ones_ = total;
    return;
  }
  for (int64_t row = 0; row < tokens; ++row) {  // each token attends to itself and to all tokens before it
    for (int64_t i = 0; i < width; ++i) put_score(row * width + i, i <= past + row);
  }
}

TensorView Feed::value(int64_t past, std::span<const int64_t> tokens) {
  const auto count = int64_t(tokens.size());
  lay_out(past, count);
  switch (kind_) {
    case FeedKind::tokens:
      for (int64_t i = 0; i < count; ++i) put(i, tokens[size_t(i)]);
      break;
    case FeedKind::mask:
      fill_mask(past, count);
      break;
    case FeedKind::positions:
      for (int64_t i = 0; i < int64_t(bytes_.size() / size_of(dtype_)); ++i) put(i, past + i % count);
      break;
    case FeedKind::past:
      put(0, past);
      break;
    case FeedKind::total:
      put(0, past + count);
      break;
    case FeedKind::last:
      put(0, past + count - 1);
      break;
    case FeedKind::has_past:
      put(0, past > 0 ? 1 : 0);
      break;
    case FeedKind::one:
      put(0, 1);
      break;
  }
  return {bytes_.data(), dtype_, Shape(shape_), "cpu"};
}

}  // namespace gart::detail
