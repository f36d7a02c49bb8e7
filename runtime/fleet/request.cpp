#include "runtime/fleet/request.h"

#include <algorithm>

#include "runtime/errors.h"

namespace gart::fleet {
namespace {

/// Buffers that a lane's thread passes to its engine, reused from call to call.
struct EngineBuffers {
  std::vector<TensorView> inputs, results;
  std::vector<OutputBuffer> outputs;
  Block blank;  // data of the inputs that pass extents: boolean vectors whose elements are never read
};

[[noreturn]] void fail_cancelled() { fail(ErrorCode::cancelled, "the run was cancelled"); }

EngineBuffers& engine_buffers() {
  thread_local EngineBuffers own;
  return own;
}

}  // namespace

RequestState::RequestState(const Shared& shared)
    : shared_(shared),
      assembly_(shared.assembly),
      course_(shared.assembly),
      values_(assembly_.values.size()),
      sizes_(assembly_.values.size()),
      calls_(new CallState[assembly_.calls.size()]),
      times_(assembly_.groups.size()),
      slots_(assembly_.slots()) {
  for (uint32_t call = 0; call < assembly_.calls.size(); ++call)
    calls_[call].queued = {this, nullptr, 0, call, nullptr};
}

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
  values_[index].view.device = "cpu";  // replaces the caller's text, which may not live as long
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
    fail(ErrorCode::invalid_argument, "the ", when, "' shapes do not suit this model: ", status.message);
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

/// Computes slots and input-bound values for the shapes of the inputs that are set.
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
    Slot& slot = values_[i];
    sizes_[i] = slot.set ? slot.view.shape.elements() * int64_t(size_of(slot.view.dtype)) : 0;
    if (value.maker == kNone) continue;
    slot.bytes = -1;
    bool known = value.input_bound;
    std::vector<int64_t> extents;
    for (const uint32_t dim : value.dims) {
      known = known && slots_.known[dim] && slots_[dim] >= 0;
      extents.push_back(known ? slots_[dim] : 0);
    }
    const int64_t elements = known ? Shape(std::span<const int64_t>(extents)).elements() : -1;
    if (elements >= 0 && elements <= kMaxExtent) sizes_[i] = slot.bytes = elements * int64_t(size_of(value.info.dtype));
  }
  for (const uint32_t input : assembly_.inputs) bound_.push_back(values_[input].view.shape);
}

void RequestState::start(std::shared_ptr<const Placement> placement) {
  if (is_under_way()) fail(ErrorCode::invalid_argument, "the request is running: wait for it first");
  has_run_ = false;
  if (cancelled_.exchange(false)) fail_cancelled();
  check_inputs();
  for (const PartCall& call : assembly_.calls) {  // forgets the symbols that an earlier run found
    for (const uint32_t value : call.outputs)
      for (const uint32_t symbol : assembly_.carried[value]) slots_.known[symbol] = 0;
  }
  if (course_.has_moved()) placed_placement_ = nullptr;
  course_.follow(std::move(placement), *route_, sizes_);
  place_values();
  failed_.store(false, std::memory_order_relaxed);
  error_ = {};
  const std::optional<uint64_t> order = shared_.gate.enter();
  if (!order) fail(ErrorCode::busy, "as many requests as the fleet's limit allows are in progress");
  course_.begin(*order);
  for (uint32_t call = 0; call < assembly_.calls.size(); ++call) calls_[call].time = {};
  for (const uint32_t call : route_->calls) {
    calls_[call].queued.order = *order;
    calls_[call].waits.store(route_->waits[call], std::memory_order_relaxed);
  }
  under_way_.store(true, std::memory_order_relaxed);
  began_ = now_ns();
  open_.store(uint32_t(route_->first.size()) + 1, std::memory_order_relaxed);
  for (const uint32_t call : route_->first) final_lane_of(call).push(calls_[call].queued);
  end_one();
}

/// The lane of a call whose inputs exist. If no device can run it, the request fails, and the call finds that when its
/// turn comes.
Lane& RequestState::final_lane_of(uint32_t call) noexcept {
  if (course_.chooses())
    if (const Result<void> chosen = guarded([&] { choose_device(call); }); !chosen) note_failure(chosen.error());
  return lane_of(call);
}

/// Chooses the device of the call's group, unless an earlier call of the group did.
void RequestState::choose_device(uint32_t call) {
  const uint32_t group = assembly_.calls[call].group;
  const std::lock_guard lock(course_.mutex());
  if (course_.is_final(group)) return;
  std::vector<uint8_t> reached(assembly_.devices.size(), 1);
  for (const uint32_t member : course_.calls_of(group)) {
    for (const uint32_t value : assembly_.calls[member].outputs)
      if (course_.size_of(value) == 0) course_.set_size(value, known_bytes(value));
    for (uint32_t device = 0; device < reached.size(); ++device)
      for (const uint32_t value : assembly_.calls[member].inputs)
        if (const Lane* lane = course_.lane_on(device, member); lane != nullptr && !can_read(value, *lane))
          reached[device] = 0;
  }
  if (!course_.choose(group, reached)) return;
  for (const uint32_t member : course_.calls_of(group)) place_outputs(member);
}

/// The bytes of a value whose extents are known by now; otherwise 0.
int64_t RequestState::known_bytes(uint32_t index) {
  const Value& value = assembly_.values[index];
  const std::lock_guard lock(run_bound_mutex_);
  int64_t bytes = int64_t(size_of(value.info.dtype));
  for (const uint32_t dim : value.dims) {
    if (!slots_.known[dim] || slots_[dim] < 0 || slots_[dim] > kMaxExtent) return 0;
    if (__builtin_mul_overflow(bytes, slots_[dim], &bytes)) return 0;
  }
  return bytes;
}

void RequestState::run_call(Lane& lane, uint32_t index) {
  const PartCall& call = assembly_.calls[index];
  EngineBuffers& buffers = engine_buffers();
  buffers.inputs.clear();
  buffers.outputs.clear();
  const Space* const space = lane.engine().space();
  for (const uint32_t value : call.inputs) buffers.inputs.push_back(view_for(value, space));
  for (const uint32_t slot : call.extents) {
    int64_t extent = 0;
    {
      const std::lock_guard lock(run_bound_mutex_);
      extent = slots_[slot];
    }
    if (extent < 0 || extent > kMaxExtent) fail(ErrorCode::run_failed, "an extent would be ", extent);
    buffers.blank.reserve(size_t(std::max<int64_t>(extent, 1)));
    buffers.inputs.push_back({buffers.blank.data(), DType::boolean, Shape{extent}, "cpu"});
  }
  for (size_t i = call.inputs.size(); i < buffers.inputs.size(); ++i) buffers.inputs[i].data = buffers.blank.data();
  for (const uint32_t value : call.outputs) buffers.outputs.push_back(room_for(value, space));
  buffers.results.resize(call.outputs.size());
  const Result<void> result = lane.engine().run(call.entry, buffers.inputs, buffers.outputs, buffers.results);
  if (!result) throw Failure{result.error()};
  for (size_t i = 0; i < call.outputs.size(); ++i) take(call.outputs[i], buffers.results[i], buffers.outputs[i]);
}

bool RequestState::is_crossed(uint32_t call) const {
  const std::vector<uint32_t>& inputs = assembly_.calls[call].inputs;
  return std::any_of(inputs.begin(), inputs.end(), [&](uint32_t value) {
    const uint32_t maker = assembly_.values[value].maker;
    return maker != kNone && &lane_of(maker) != &lane_of(call);
  });
}

void RequestState::note_time(Lane& lane, uint32_t call, int64_t begin, int64_t end) {
  const int64_t idle = std::max<int64_t>(begin - std::max(lane.queue().idle_since, began_), 0);
  calls_[call].time = {begin - began_, end - began_, idle, is_crossed(call)};
  lane.queue().idle_since = end;
}

void RequestState::note_failure(Error error) {
  const std::lock_guard lock(failing_);
  if (failed_.load(std::memory_order_relaxed)) return;
  error_ = std::move(error);
  failed_.store(true, std::memory_order_release);
}

void RequestState::work(Lane& lane, uint32_t call) noexcept {
  if (failed_.load(std::memory_order_acquire)) return end_one();
  const bool timed = shared_.monitor.is_on();
  const int64_t begin = timed ? now_ns() : 0;
  const Result<void> done = guarded([&] {
    if (cancelled_.load(std::memory_order_relaxed)) fail_cancelled();
    if (lane.is_lost()) throw Failure{lane.loss()};
    run_call(lane, call);
  });
  if (timed) note_time(lane, call, begin, now_ns());
  if (done) {
    course_.end_call(call);
    return pass_on(lane, call);
  }
  if (done.error().code == ErrorCode::device_lost) lane.lose(done.error());
  const Result<void> noted = guarded([&] {
    const Error& why = done.error();
    if (why.code == ErrorCode::cancelled) return note_failure(why);
    note_failure({why.code, text("device '", lane.device(), "', group '",
                                 assembly_.groups[assembly_.calls[call].group].name, "': ", why.message)});
  });
  if (!noted) note_failure(noted.error());  // a text so short that its copy needs no memory
  end_one();
}

/// The last call that becomes ready takes over the place of `call` in the count of open calls. Once that last call has
/// been handed over, the request may end at any time.
void RequestState::pass_on(Lane& lane, uint32_t call) {
  const auto hand_over = [&](uint32_t reader) {
    Lane& to = final_lane_of(reader);
    &to == &lane ? lane.keep(calls_[reader].queued) : to.push(calls_[reader].queued);
  };
  uint32_t last = kNone;
  for (const uint32_t reader : route_->readers[call]) {
    if (calls_[reader].waits.fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
    if (last != kNone) {
      open_.fetch_add(1, std::memory_order_relaxed);
      hand_over(last);
    }
    last = reader;
  }
  last == kNone ? end_one() : hand_over(last);
}

/// The call that ends last ends the request: no call is queued any more, and no running call could queue one.
void RequestState::end_one() {
  if (open_.fetch_sub(1, std::memory_order_acq_rel) == 1) finish();
}

/// Adds the times of a run to the monitor, if all groups ran.
void RequestState::add_times(int64_t run_ns) {
  for (uint32_t group = 0; group < times_.size(); ++group) {
    if (route_->calls_of_group[group] != assembly_.groups[group].calls) return;
    times_[group] = {group, course_.devices()[group], false, {}};
  }
  for (const uint32_t call : route_->calls) {
    const CallTime& time = calls_[call].time;
    GroupSample& sample = times_[assembly_.calls[call].group];
    Samples::Times& of = sample.times;
    sample.crossed = sample.crossed || time.crossed;
    of.begin_ns = of.operation_ns == 0 ? time.begin_ns : std::min(of.begin_ns, time.begin_ns);
    of.operation_ns += time.end_ns - time.begin_ns;
    of.idle_ns += time.idle_ns;
  }
  shared_.monitor.add(times_, run_ns);
}

void RequestState::finish() {
  const int64_t end = now_ns();
  has_run_ = !failed_.load(std::memory_order_relaxed);
  // If no memory is left for the times, the run is not counted.
  if (has_run_ && shared_.monitor.is_on() && !route_->calls.empty())
    static_cast<void>(guarded([&] { add_times(end - began_); }));
  course_.end();
  shared_.gate.leave();
  // a waiting thread continues only after this lock is released, and may then destroy this object.
  const std::lock_guard lock(ending_);
  cancelled_.store(false, std::memory_order_relaxed);
  under_way_.store(false, std::memory_order_release);
  ended_.notify_all();
}

void RequestState::check_here() const {
  if (!shared_.gate.here())
    fail(ErrorCode::invalid_argument,
         "this process was forked after the fleet was loaded, and the threads belong to the parent: load the file "
         "again here");
}

void RequestState::wait_for_end() {
  constexpr int64_t kSpinNs = 20'000;
  if (is_under_way()) {
    for (const int64_t end = now_ns() + kSpinNs; is_under_way() && now_ns() < end;) {
    }
  }
  if (!shared_.gate.here()) return;
  std::unique_lock lock(ending_);
  ended_.wait(lock, [&] { return !is_under_way(); });
}

TensorView RequestState::value(uint32_t value) const { return values_[value].view; }

}  // namespace gart::fleet
