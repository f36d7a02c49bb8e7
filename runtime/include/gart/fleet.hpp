// One model over several devices. GPUs and pools of CPU cores run the parts of a file that was compiled for a fleet,
// each part on the device where its group was placed. libgart_fleet.so, over libgart.
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
// part at a time, of the oldest request first. Requests that were started one after the other therefore flow through
// the devices as through a pipeline. A failed request does not affect the others. If a device is lost, the requests
// that need it fail (ErrorCode::device_lost). Later requests run its groups on other devices that support them and have
// room.
//
// A child of fork() has no fleet: start() fails there, but programs loaded before can be destroyed. Load the file in
// the child.
//
// A Program or Request that was moved from may only be destroyed or assigned to.
//
// Results do not depend on where groups run, as long as all use code for one target (see Program::devices).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gart/gart.hpp"
#include "gart/hosts.hpp"
#include "gart/manager.hpp"

namespace gart::fleet {

/// The device of this machine that serves as a device of the file.
struct DeviceHere {
  std::string name;    ///< name of a device in the file
  std::string device;  ///< in the format of gart::LoadOptions.device: "cpu:0-1", "cuda:1"
};

struct GroupPlace {
  std::string group, device;  ///< names in the file; the group supports the device
};

struct LoadOptions {
  bool verify = true;  ///< as gart::LoadOptions.verify
  /// Devices that are not named use the cores, or the GPU, that the file names. Names that are not in the file are
  /// ignored.
  std::vector<DeviceHere> devices = {};
  /// Groups that are not named run where the file places them.
  std::vector<GroupPlace> placement = {};
  /// Names in the file: a group that would run elsewhere runs on the least loaded of these devices that supports it.
  /// Empty: all devices.
  std::vector<std::string> only = {};
  int threads = 0;   ///< of each CPU pool; 0: one per core
  bool spin = true;  ///< as gart::LoadOptions.spin, within each CPU pool
  /// Limit of concurrent requests; start() of a further one waits. 0: two per device. At most 4096.
  int requests = 0;
  bool refuse_requests = false;  ///< start() of a request beyond the limit fails with ErrorCode::busy instead
  bool blocking = false;         ///< as gart::LoadOptions.blocking
  bool monitor = true;           ///< measure the times that times() returns
  /// Dynamic placement: each request's groups run where they are estimated to end first, given the devices' current
  /// work. The choice is made when the request begins, and again when a group's inputs exist. Groups that `placement`
  /// names stay there. A device that has its share of the concurrent requests gets no more while another one has fewer.
  /// Needs memory for each group on all devices that support it, as far as it fits there.
  bool dynamic = false;
  /// The job whose other ranks run the parts of other hosts (hosts.hpp); null: this process runs all parts. Only rank 0
  /// of the job may load. Custom operators run on rank 0 only.
  const Hosts* hosts = nullptr;
  /// The program shares the queues and the memory of its devices with all programs of this manager (manager.hpp). Null:
  /// it has queues of its own.
  const Manager* manager = nullptr;
  std::span<const gart_custom_op> custom_ops = {};  ///< copied, except for the data that `user` points to
  /// As gart::LoadOptions.trusted_keys. Not together with `hosts`: the other ranks do not check signatures.
  std::span<const std::string_view> trusted_keys = {};
  std::span<const uint8_t> signature = {};  ///< as gart::LoadOptions.signature
};

struct DeviceInfo {
  std::string name;    ///< name in the file
  std::string device;  ///< the device here: "cpu:0-1"; empty: no group has run on it
  std::string target;  ///< the target whose code runs there
  bool lost = false;
};

/// The times of a group on a device, over the last 128 requests that ran the whole model there, without the first one.
/// Microseconds; medians.
struct GroupTime {
  std::string group, device;
  double operation_us = 0;  ///< of its parts, from the begin to the end of each
  double idle_us = 0;       ///< time that the device was idle before them since the request began
  double noise_us = 0;      ///< half of the interquartile range of operation_us
  double begin_us = 0;      ///< begin of its first part, since the request began
  int64_t runs = 0;
  bool crossed = false;  ///< in requests where another device made one of its inputs
};
struct Times {
  std::vector<GroupTime> groups;  ///< the groups that ran
  double run_us = 0;              ///< from start() to the end of a request
  double run_noise_us = 0;
  int64_t runs = 0;
};

/// One run of a part, which is call `call` of the file's assembly. Microseconds since the request began.
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
  ~Request();  ///< waits for a run in progress

  /// Data in host memory, which must stay valid and unchanged until the run is over. Fails while a run is in progress.
  Result<void> set_input(size_t index, const TensorView& tensor);
  Result<void> set_input(std::string_view name, const TensorView& tensor);
  /// From now on runs compute these values instead of the model's outputs. They may be outputs, inputs, values that
  /// cross between parts, or values that were kept when the model was compiled. Only the necessary parts run, and only
  /// their inputs have to be set. {}: the model's outputs again. An unknown name is refused, and the error lists the
  /// nearest ones.
  Result<void> fetch(std::span<const std::string_view> names);

  /// Enqueues a run. Waits while the limit of concurrent requests is reached. Fails before anything runs if inputs are
  /// missing or disagree, or if no device is left for a group.
  Result<void> start();
  /// Waits for the end of the run. Fails as the run did.
  Result<void> wait();
  /// May be called by any thread, while the request lives. The current run fails with ErrorCode::cancelled before its
  /// next part; parts that run go on to their end. Without a current run the next one fails, unless wait() comes before
  /// it.
  void cancel();
  bool ready() const;  ///< wait() will not wait
  Result<void> run();  ///< start() and wait()

  /// Output `index` of the last run, or value `index` of fetch(), if that run succeeded. In host memory; valid until
  /// the next start().
  TensorView output(size_t index) const;
  TensorView output(std::string_view name) const;
  size_t outputs() const;
  /// The number of calls of parts in a run.
  size_t calls() const;
  /// The times of the parts in the last run, if it succeeded and the program measures.
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
  std::span<const TensorInfo> values() const;  ///< all values that fetch() accepts
  std::vector<DeviceInfo> devices() const;
  /// The devices of groups in the latest placement. A group of a lost device moves when the next request begins.
  std::vector<GroupPlace> placement() const;

  Result<Request> new_request() const;
  /// Makes a request with these inputs and starts it.
  Result<Request> submit(std::span<const NamedTensor> inputs, std::span<const std::string_view> fetch = {}) const;

  /// May be called at any time.
  Times times() const;
  void forget_times() const;

  explicit Program(std::shared_ptr<detail::FleetState> state);

 private:
  std::shared_ptr<detail::FleetState> state_;
};

/// Maps the file, verifies it, and loads the parts on their devices. Fails for a file that was not compiled for a
/// fleet. Also fails if a device is not available, and names the available ones. The file must not be changed while the
/// program lives.
GART_API Result<Program> load(const std::string& path, const LoadOptions& options = {});
/// Loads from memory, which must stay valid and unchanged while the program lives.
GART_API Result<Program> load(std::span<const uint8_t> artifact, const LoadOptions& options = {});

}  // namespace gart::fleet
