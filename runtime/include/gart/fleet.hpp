// One model over several devices: pools of CPU cores and GPUs work on the parts that a file compiled for a fleet has,
// each part on the device that its group was placed on. libgart_fleet.so, over libgart.
//
//   auto model = gart::fleet::load("model.gart");
//   auto request = model->new_request();
//   request->set_input("x", x);
//   request->start();             // returns at once; other requests may run meanwhile
//   request->wait();
//   std::span<const float> y = request->output(0).elements<float>();
//
// Every call reports failure through Result (result.h); none throws.
//
// Threads: a Program may be used by any number of threads at once, a Request by one at a time. A device works on one
// part at a time, of the oldest request first, so requests that were started one after the other flow through the
// devices like through a pipeline. A request that fails does not touch the others. A device that is lost takes along
// the requests that need it (ErrorCode::device_lost); the next ones find its groups on other devices that support them
// and have room.
//
// A child of fork() has no fleet: start() fails there, and what was loaded may be destroyed. Load the file in the child.
//
// A Program or Request that was moved from may be destroyed or assigned to, and nothing else.
//
// Results do not depend on where groups run, as long as that is code for one target (Program::devices says which).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gart/gart.hpp"

namespace gart::fleet {

/// What of this machine stands for a device of the file.
struct DeviceHere {
  std::string name;    ///< of a device in the file
  std::string device;  ///< as gart::LoadOptions.device takes it: "cpu:0-1", "cuda:1"
};

struct GroupPlace {
  std::string group, device;  ///< names in the file; the group supports the device
};

struct LoadOptions {
  bool verify = true;  ///< as gart::LoadOptions.verify
  /// For the devices that are not named: the cores, or the GPU, that the file says. Names that it does not know are
  /// ignored.
  std::vector<DeviceHere> devices = {};
  /// For the groups that are not named: where the file places them.
  std::vector<GroupPlace> placement = {};
  /// Names in the file: groups that would run elsewhere run on the one of these that supports them and has the least to
  /// do. Empty: all.
  std::vector<std::string> only = {};
  int threads = 0;   ///< of each CPU pool; 0: one per core
  bool spin = true;  ///< as gart::LoadOptions.spin, within each CPU pool
  /// Requests that may be under way at once; a further one's start() waits. 0: two per device. At most 4096.
  int requests = 0;
  bool blocking = false;  ///< as gart::LoadOptions.blocking
  bool monitor = true;    ///< measure: what times() says
  /// Each request's groups go where they are estimated to end first when it begins, given what the devices have to do
  /// already; groups that `placement` names stay there. A device that has its share of the requests under way is not
  /// given more while another one has not. Needs memory for each group on all devices that support it, as far as it
  /// fits there.
  bool dynamic = false;
  std::span<const gart_custom_op> custom_ops = {};  ///< copied but for what `user` points to
};

struct DeviceInfo {
  std::string name;    ///< in the file
  std::string device;  ///< here: "cpu:0-1"; empty: no group has run on it
  std::string target;  ///< whose code runs there
  bool lost = false;
};

/// What a group took on a device, over the last 128 requests that ran the whole model there, the first one left out.
/// Microseconds; medians.
struct GroupTime {
  std::string group, device;
  double operation_us = 0;  ///< of its parts, from taking up to end
  double idle_us = 0;       ///< that the device had nothing to do before them since the request began
  double noise_us = 0;      ///< half of what lies between the quartiles of operation_us
  double begin_us = 0;      ///< of the first of its parts, since the request began
  int64_t runs = 0;
  bool crossed = false;  ///< in requests where another device made one of its inputs
};
struct Times {
  std::vector<GroupTime> groups;  ///< those that ran
  double run_us = 0;              ///< from start() to the end of a request
  double run_noise_us = 0;
  int64_t runs = 0;
};

/// A run of a part: call `call` of the file's assembly. Microseconds since the request began.
struct PartTime {
  uint32_t call = 0;
  std::string group, device;
  double begin_us = 0, end_us = 0;
  bool crossed = false;  ///< another device made one of its inputs
};

namespace detail {
struct FleetState;
struct OpenRequest;
}  // namespace detail

/// One caller's memory for a run. Keeps its program alive. A further run with the shapes of the last one allocates
/// nothing.
class GART_API Request {
 public:
  Request(Request&&) noexcept;
  Request& operator=(Request&&) noexcept;
  ~Request();  ///< waits for what is under way

  /// In host memory, which must stay valid and unchanged until the run is over. Fails while one is under way.
  Result<void> set_input(size_t index, const TensorView& tensor);
  Result<void> set_input(std::string_view name, const TensorView& tensor);
  /// From now on runs make these values instead of the model's outputs: outputs, inputs, and whatever crosses between
  /// parts or was kept when the model was compiled. Only the parts that they need run, and only the inputs that those
  /// need have to be set. {}: the model's outputs again. A name that is not known is refused, with the nearest ones.
  Result<void> fetch(std::span<const std::string_view> names);

  /// Enqueues a run. Waits where as many are under way as may be. Fails before anything runs if inputs are missing or
  /// disagree, or if a group has no device left.
  Result<void> start();
  /// Waits for its end. Fails as the run did.
  Result<void> wait();
  bool ready() const;  ///< wait() will not wait
  Result<void> run();  ///< start() and wait()

  /// Of the last run, if that has ended well: output `index`, or value `index` of fetch(). In host memory; valid until
  /// the next start().
  TensorView output(size_t index) const;
  TensorView output(std::string_view name) const;
  size_t outputs() const;
  /// How many calls of parts a run makes.
  size_t calls() const;
  /// What ran when in the last run, if that has ended well and the program measures.
  std::vector<PartTime> times() const;

  explicit Request(std::unique_ptr<detail::OpenRequest> state);

 private:
  std::unique_ptr<detail::OpenRequest> state_;
};

/// A loaded model. Copies are cheap and share everything.
class GART_API Program {
 public:
  std::span<const TensorInfo> inputs() const;
  std::span<const TensorInfo> outputs() const;
  std::span<const TensorInfo> values() const;  ///< all that can be fetched
  std::vector<DeviceInfo> devices() const;
  std::vector<GroupPlace> placement() const;  ///< of requests that begin now

  Result<Request> new_request() const;
  /// A request with these inputs, started.
  Result<Request> submit(std::span<const NamedTensor> inputs, std::span<const std::string_view> fetch = {}) const;

  /// May be asked for at any time.
  Times times() const;
  void forget_times() const;

  explicit Program(std::shared_ptr<detail::FleetState> state);

 private:
  std::shared_ptr<detail::FleetState> state_;
};

/// Maps the file, proves it sound, and loads the parts on their devices. Fails for a file that was not compiled for a
/// fleet, and for a device that is not here, saying what is. The file must not be changed while the program lives.
GART_API Result<Program> load(const std::string& path, const LoadOptions& options = {});
/// From memory, which must stay valid and unchanged while the program lives.
GART_API Result<Program> load(std::span<const uint8_t> artifact, const LoadOptions& options = {});

}  // namespace gart::fleet
