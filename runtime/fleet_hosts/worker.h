// A rank that runs the parts which rank 0 sends.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/fleet/program_engines.h"
#include "runtime/fleet_hosts/rank_job.h"
#include "runtime/fleet_hosts/station.h"

namespace gart::fleet {

class Worker {
 public:
  explicit Worker(RankJob& job) : job_(job), link_(job.link) {}
  ~Worker();
  /// Returns when rank 0 ends the job. Throws Failure if rank 0 is silent.
  void serve();

 private:
  struct Model {
    std::shared_ptr<ServedModel> open = std::make_shared<ServedModel>();
    std::vector<std::unique_ptr<Station>> stations;
  };
  /// A message that is being sent. `bytes`: its contents, unless they are in the rank's own memory.
  struct Sending {
    std::unique_ptr<Writer> bytes;
    Transfer transfer;
  };
  struct Receiving {
    Transfer transfer;
    int answer = 0;
  };
  bool handle(const std::vector<uint8_t>& message);  // returns false if rank 0 has ended the job
  void begin_model(Reader& command);
  void allocate(Reader& command);
  void send(Reader& command);
  void receive(Reader& command);
  void answer(int tag, Writer message);
  void go_on();

  RankJob& job_;
  RankLink& link_;
  std::map<uint32_t, Model> models_;
  // The thread that serves never waits for a message, so that it can always answer a ping.
  std::vector<Sending> sending_;
  std::vector<Receiving> receiving_;
  std::map<uint64_t, Block> memory_;  // by address
};

}  // namespace gart::fleet
