#include "runtime/fleet/request.h"

#include <algorithm>
#include <cstring>

#include "runtime/errors.h"

namespace gart::fleet {
namespace {

/// What a lane's thread hands to its engine, kept from call to call.
struct Hands {
  std::vector<TensorView> inputs, results;
  std::vector<OutputBuffer> outputs;
  Block blank;  // of extents: boolean vectors whose elements nobody reads
};

Hands& hands() {
  thread_local Hands own;
  return own;
}

}  // namespace

RequestState::RequestState(const Shared& shared)
    : shared_(shared),
      assembly_(shared.assembly),
      values_(assembly_.values.size()),
      slots_(assembly_.slots()),
      waits_(new std::atomic<uint32_t>[assembly_.calls.size()]),
      call_times_(assembly_.calls.size()),
      times_(assembly_.groups.size()) {}

void RequestState::set_input(uint32_t input, const TensorView& tensor) {
  const uint32_t index = assembly_.inputs[input];
  const TensorInfo& info = assembly_.values[index].info;
  if (tensor.dtype != info.dtype)
    fail(ErrorCode::invalid_argument, "input '", info.name, "' must be ", name_of(info.dtype), ", but is ",
         name_of(tensor.dtype));
  if (tensor.shape.rank() != info.dims.size())
    fail(ErrorCode::invalid_argument, "input '", info.name, "' has rank ", tensor.shape.rank(), ", but must be ",
         info.text());
  if (tensor.device == nullptr || std::strcmp(tensor.device, "cpu") != 0)
    fail(ErrorCode::invalid_argument, "input '", info.name, "' is on device '",
         tensor.device == nullptr ? "(null)" : tensor.device, "'; a fleet takes inputs in the host's memory");
  const int64_t elements = tensor.shape.elements();
  if (elements < 0 || elements > kMaxExtent)
    fail(ErrorCode::invalid_argument, "input '", info.name, "' has the impossible shape ", tensor.shape.text());
  if (tensor.data == nullptr && elements > 0)
    fail(ErrorCode::invalid_argument, "input '", info.name, "' has ", elements,
         " elements, but its data pointer is null");
  values_[index].view = tensor;
  values_[index].view.device = "cpu";  // the caller's text need not live as long
  values_[index].set = true;
}

void RequestState::check_inputs() {
  for (const uint32_t index : route_->inputs) {
    if (!values_[index].set)
      fail(ErrorCode::invalid_argument, "input ", assembly_.values[index].input, " '",
           assembly_.values[index].info.name, "' is not set");
  }
  bool same = bound_.size() == assembly_.inputs.size();
  for (size_t i = 0; same && i < bound_.size(); ++i) same = values_[assembly_.inputs[i]].view.shape == bound_[i];
  if (!same) bind_inputs();
}

void RequestState::evaluate_slots(const char* when) {
  Status status = evaluate(assembly_.program, assembly_.symbols.size(), slots_);
  if (!status.ok())
    fail(ErrorCode::invalid_argument, "the ", when, "' shapes make no sense to this model: ", status.message);
}

void RequestState::check_extents(uint32_t index) {
  const Value& value = assembly_.values[index];
  const Shape& shape = values_[index].view.shape;
  for (size_t axis = 0; axis < value.dims.size(); ++axis) {
    const uint32_t slot = value.dims[axis];
    if (!slots_.known[slot] || slots_[slot] == shape[axis]) continue;
    fail(ErrorCode::invalid_argument, value.input == kNone ? "value '" : "input '", value.info.name, "' has shape ",
         shape.text(), ": axis ", axis, " is ", shape[axis], ", but must be ", value.info.dims[axis], " = ",
         slots_[slot]);
  }
}

void RequestState::check_constraints() {
  for (const Constraint& constraint : assembly_.constraints) {
    const bool known = slots_.known[constraint.a] && slots_.known[constraint.b];
    if (!known || slots_[constraint.a] == slots_[constraint.b]) continue;
    fail(ErrorCode::invalid_argument, "the inputs' extents disagree: ", slots_[constraint.a], " must equal ",
         slots_[constraint.b], constraint.reason.empty() ? "" : ": ", constraint.reason);
  }
}

/// Slots and early values for the shapes of the inputs that are set.
void RequestState::bind_inputs() {
  bound_.clear();
  std::fill(slots_.known.begin(), slots_.known.end(), uint8_t{0});
  for (size_t i = 0; i < assembly_.symbols.size(); ++i) {
    const Symbol& symbol = assembly_.symbols[i];
    if (assembly_.values[symbol.value].maker == kNone && values_[symbol.value].set)
      slots_.set(i, values_[symbol.value].view.shape[symbol.axis]);
  }
  evaluate_slots("inputs");
  for (const uint32_t input : assembly_.inputs)
    if (values_[input].set) check_extents(input);
  check_constraints();
  for (size_t i = 0; i < values_.size(); ++i) {
    const Value& value = assembly_.values[i];
    if (value.maker == kNone) continue;
    Slot& slot = values_[i];
    slot.bytes = -1;
    bool known = value.early;
    std::vector<int64_t> extents;
    for (const uint32_t dim : value.dims) {
      known = known && slots_.known[dim] && slots_[dim] >= 0;
      extents.push_back(known ? slots_[dim] : 0);
    }
    const int64_t elements = known ? Shape(std::span<const int64_t>(extents)).elements() : -1;
    if (elements >= 0 && elements <= kMaxExtent) slot.bytes = elements * int64_t(size_of(value.info.dtype));
  }
  for (const uint32_t input : assembly_.inputs) bound_.push_back(values_[input].view.shape);
}

void RequestState::start(std::shared_ptr<const Placement> placement) {
  if (is_under_way()) fail(ErrorCode::invalid_argument, "the request is under way: wait for it first");
  has_run_ = false;
  check_inputs();
  for (const Call& call : assembly_.calls) {  // what a run before found out
    for (const uint32_t value : call.outputs)
      for (const uint32_t symbol : assembly_.carried[value]) slots_.known[symbol] = 0;
  }
  placement_ = std::move(placement);
  for (const uint32_t call : route_->calls) waits_[call].store(route_->waits[call], std::memory_order_relaxed);
  for (uint32_t group = 0; group < times_.size(); ++group) times_[group] = {group, placement_->device[group], {}};
  std::fill(call_times_.begin(), call_times_.end(), CallTime{});
  failed_.store(false, std::memory_order_relaxed);
  error_ = {};
  order_ = shared_.gate.enter();
  under_way_.store(true, std::memory_order_relaxed);
  began_ = now_ns();
  open_.store(uint32_t(route_->first.size()) + 1, std::memory_order_relaxed);
  for (const uint32_t call : route_->first) placement_->lane[assembly_.calls[call].group]->push(order_, *this, call);
  end_one();
}

/// A value is there: the symbols that it carries have theirs.
void RequestState::bind_value(uint32_t value) {
  if (assembly_.values[value].early && assembly_.carried[value].empty()) return;
  const std::lock_guard lock(late_);
  for (const uint32_t symbol : assembly_.carried[value])
    slots_.set(symbol, values_[value].view.shape[assembly_.symbols[symbol].axis]);
  if (!assembly_.carried[value].empty()) evaluate_slots("results");
  check_extents(value);
}

/// Null where its size is not known yet.
OutputBuffer RequestState::room_for(uint32_t value) {
  Slot& slot = values_[value];
  const DType dtype = assembly_.values[value].info.dtype;
  if (slot.bytes < 0) return {};
  slot.own.reserve(size_t(std::max<int64_t>(slot.bytes, 1)));
  return {slot.own.data(), slot.own.capacity(), dtype, "cpu"};
}

void RequestState::take(uint32_t value, const TensorView& result, const OutputBuffer& room) {
  Slot& slot = values_[value];
  slot.view = result;
  if (result.data != room.data) {
    const size_t bytes = size_t(result.shape.elements()) * size_of(result.dtype);
    slot.own.reserve(std::max<size_t>(bytes, 1));
    if (bytes > 0) std::memcpy(slot.own.data(), result.data, bytes);
    slot.view.data = slot.own.data();
  }
  slot.view.device = "cpu";
  bind_value(value);
}

void RequestState::run_call(Lane& lane, uint32_t index) {
  const Call& call = assembly_.calls[index];
  Hands& hand = hands();
  hand.inputs.clear();
  hand.outputs.clear();
  for (const uint32_t value : call.inputs) hand.inputs.push_back(values_[value].view);
  for (const uint32_t slot : call.extents) {
    int64_t extent = 0;
    {
      const std::lock_guard lock(late_);
      extent = slots_[slot];
    }
    if (extent < 0 || extent > kMaxExtent) fail(ErrorCode::run_failed, "an extent would be ", extent);
    hand.blank.reserve(size_t(std::max<int64_t>(extent, 1)));
    hand.inputs.push_back({hand.blank.data(), DType::boolean, Shape{extent}, "cpu"});
  }
  for (size_t i = call.inputs.size(); i < hand.inputs.size(); ++i) hand.inputs[i].data = hand.blank.data();
  for (const uint32_t value : call.outputs) hand.outputs.push_back(room_for(value));
  hand.results.resize(call.outputs.size());
  const Result<void> result = lane.engine().run(call.entry, hand.inputs, hand.outputs, hand.results);
  if (!result) throw Failure{result.error()};
  for (size_t i = 0; i < call.outputs.size(); ++i) take(call.outputs[i], hand.results[i], hand.outputs[i]);
}

void RequestState::note_time(Lane& lane, uint32_t call, int64_t begin, int64_t end) {
  Samples::Times& times = times_[assembly_.calls[call].group].times;
  if (times.operation_ns == 0) times.begin_ns = begin - began_;
  times.operation_ns += end - begin;
  times.idle_ns += std::max<int64_t>(begin - std::max(lane.idle_since, began_), 0);
  call_times_[call] = {begin - began_, end - began_};
  lane.idle_since = end;
}

void RequestState::note_failure(const Error& error) {
  const std::lock_guard lock(failing_);
  if (failed_.load(std::memory_order_relaxed)) return;
  error_ = error;
  failed_.store(true, std::memory_order_release);
}

void RequestState::work(Lane& lane, uint32_t call) noexcept {
  if (!failed_.load(std::memory_order_acquire)) {
    const bool timed = shared_.monitor.is_on();
    const int64_t begin = timed ? now_ns() : 0;
    const Result<void> done = guarded([&] {
      if (lane.is_lost()) throw Failure{lane.loss()};
      run_call(lane, call);
    });
    if (timed) note_time(lane, call, begin, now_ns());
    if (done) {
      pass_on(call);
    } else {
      if (done.error().code == ErrorCode::device_lost) lane.lose(done.error());
      const Result<void> noted = guarded([&] {
        note_failure(
            {done.error().code, text("device '", lane.device(), "', group '",
                                     assembly_.groups[assembly_.calls[call].group].name, "': ", done.error().message)});
      });
      if (!noted) note_failure(noted.error());
    }
  }
  end_one();
}

void RequestState::pass_on(uint32_t call) {
  for (const uint32_t reader : route_->readers[call]) {
    if (waits_[reader].fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
    open_.fetch_add(1, std::memory_order_relaxed);
    placement_->lane[assembly_.calls[reader].group]->push(order_, *this, reader);
  }
}

/// The last that ends ends the request: nothing is queued any more, and nothing running could queue something.
void RequestState::end_one() {
  if (open_.fetch_sub(1, std::memory_order_acq_rel) == 1) finish();
}

void RequestState::finish() {
  const int64_t end = now_ns();
  has_run_ = !failed_.load(std::memory_order_relaxed);
  bool whole = has_run_ && shared_.monitor.is_on() && !route_->calls.empty();
  for (uint32_t group = 0; whole && group < times_.size(); ++group)
    whole = route_->calls_of_group[group] == assembly_.groups[group].calls;
  if (whole) shared_.monitor.add(times_, end - began_);
  shared_.gate.leave();
  const std::lock_guard lock(ending_);  // until it is released, nobody who waits goes on, and so may end this object
  under_way_.store(false, std::memory_order_release);
  ended_.notify_all();
}

void RequestState::wait_for_end() {
  constexpr int64_t kSpinNs = 20'000;
  if (is_under_way()) {
    for (const int64_t end = now_ns() + kSpinNs; is_under_way() && now_ns() < end;) {
    }
  }
  std::unique_lock lock(ending_);
  ended_.wait(lock, [&] { return !is_under_way(); });
}

TensorView RequestState::value(uint32_t value) const { return values_[value].view; }

}  // namespace gart::fleet
