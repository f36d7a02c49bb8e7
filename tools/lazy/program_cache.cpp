#include "tools/lazy/program_cache.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iomanip>
#include <sstream>

#include "compiler/support/error.h"
#include "tools/lazy/disk_cache.h"
#include "tools/lazy/graph_of_cut.h"
#include "tools/lazy/infer_types.h"
#include "tools/lazy/interpret.h"

namespace gcc_graph::lazy {
namespace {

// The most requests that wait. The oldest request is dropped; the engine requests the program again when needed.
constexpr size_t kMostWaiting = 256;
constexpr size_t kMostLines = 1000;
constexpr int kNice = 5;

std::string describe(const Cut& cut) {
  const Node& last = *cut.nodes[cut.results.front()];
  return gcg::concat(cut.runs, cut.runs == 1 ? " node" : " nodes", ", for ", last.op->name, " ", text_of(*last.type));
}

/// Describes the first extents that differ.
std::string difference(const std::vector<int64_t>& before, const std::vector<int64_t>& now) {
  for (size_t i = 0; i < now.size(); ++i)
    if (before[i] != now[i]) return gcg::concat("an extent or limit was ", before[i], " and is ", now[i]);
  return "extents that were equal are not";
}

}  // namespace

namespace {

/// Stops the compiler thread when the main thread ends. exit() destroys the main thread's objects before all static
/// ones. LLVM registers static objects during the first compilation. exit() destroys these before it calls handlers
/// that were registered earlier, while the compiler thread still uses them.
struct CompilerThreadGuard {
  ~CompilerThreadGuard() {
    if (syscall(SYS_gettid) == getpid()) ProgramCache::instance().stop();
  }
  void touch() const {}
};

thread_local const CompilerThreadGuard ends_first;

}  // namespace

ProgramCache& ProgramCache::instance() {
  static ProgramCache* cache = [] {
    auto* created = new ProgramCache;
    created->settings_.cache_folder = DiskCache::default_folder().string();
    pthread_atfork([] { instance().before_fork(); }, [] { instance().after_fork(false); },
                   [] { instance().after_fork(true); });
    return created;
  }();
  return *cache;
}

KnownCut& ProgramCache::find(const Cut& cut) {
  const uint64_t hash = cut.hash();
  const auto [begin, end] = found_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    KnownCut& known = it->second;
    if (known.structure != cut.structure || known.extents != cut.extents) continue;
    known.used = ++clock_;
    const Program::State state = known.program->state;
    if (state != Program::State::failed || known.program->pattern.symbols == 0) return known;
    found_.erase(it);  // compiling with symbolic extents failed; use fixed ones
    break;
  }
  KnownCut fresh{cut.structure, cut.extents, nullptr, {}, ++clock_};
  fresh.program = program_for(family_of(cut), cut, fresh.symbols);
  evict();
  return found_.emplace(hash, std::move(fresh))->second;
}

ProgramCache::Family& ProgramCache::family_of(const Cut& cut) {
  uint64_t hash = 0;
  for (const uint32_t word : cut.structure) hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL + (hash >> 31);
  const auto [begin, end] = families_.equal_range(hash);
  for (auto it = begin; it != end; ++it)
    if (it->second.structure == cut.structure) return it->second;
  return families_.emplace(hash, Family{cut.structure, {}, false})->second;
}

std::shared_ptr<Program> ProgramCache::program_for(Family& family, const Cut& cut, std::vector<int64_t>& symbols) {
  const std::vector<int64_t> extents = flat_extents(cut);
  for (const auto& p : family.programs) {
    if (p->state != Program::State::failed && p->pattern.match(extents, symbols)) return p;
    if (p->state == Program::State::failed && p->pattern.symbols > 0) family.fixed_only = true;
  }
  auto program = std::make_shared<Program>();
  program->made_of = extents;
  program->work = interpreter_work(cut);
  if (family.programs.empty()) {
    program->pattern = Pattern::of(extents);
    program->cause = "a new graph of " + describe(cut);
  } else {
    const Program& last = *family.programs.back();
    program->pattern = family.fixed_only ? Pattern::of(extents) : last.pattern.widened(last.made_of, extents);
    program->cause = gcg::concat(
        "a graph of ", describe(cut), " again, but ", difference(last.made_of, extents),
        family.fixed_only ? "; it cannot be compiled for open extents" : ": the differing extents are open now");
  }
  program->pattern.match(extents, symbols);
  try {
    program->graph = graph_of_cut(cut, program->pattern);
    program->weights = weights_of(cut, program->pattern);
  } catch (const std::exception& error) {
    program->error = error.what();
    program->state = Program::State::failed;
    if (program->pattern.symbols > 0) {
      family.fixed_only = true;
      return program_for(family, cut, symbols);
    }
  }
  family.programs.push_back(program);
  return program;
}

void ProgramCache::request(const std::shared_ptr<Program>& program) {
  ends_first.touch();
  const std::lock_guard lock(mutex_);
  if (program->state != Program::State::requested) return;  // another thread has started it since the caller looked
  if (std::find(queue_.begin(), queue_.end(), program) != queue_.end()) return;
  queue_.push_back(program);
  if (queue_.size() > kMostWaiting) queue_.pop_front();
  if (!has_thread_ && !stop_) {
    has_thread_ = true;
    thread_ = new std::thread([this] { work(); });
  }
  changed_.notify_all();
}

void ProgramCache::make(const std::shared_ptr<Program>& program, std::unique_lock<std::mutex>& lock) {
  program->state = Program::State::compiling;
  ++busy_;
  const Settings s = settings_;
  lock.unlock();
  program->make(s);
  lock.lock();
  --busy_;
  // Registered after the first compilation, so that it runs before LLVM's static objects are destroyed. The handler is
  // needed if the main thread never requested a program.
  static std::once_flag ends;
  std::call_once(ends, [] { std::atexit([] { instance().stop(); }); });
  const bool failed = program->state == Program::State::failed;
  (program->from_disk ? disk_hits_ : compiles_) += failed ? 0 : 1;
  std::ostringstream line;
  line << std::fixed << std::setprecision(1)
       << (failed               ? "not compiled, interpreted: "
           : program->from_disk ? "from disk in "
                                : "compiled in ");
  if (!failed) line << program->milliseconds << " ms: ";
  line << program->cause;
  if (failed) line << " (" << program->error << ")";
  lines_.push_back(line.str());
  if (lines_.size() > kMostLines) lines_.pop_front();
  changed_.notify_all();
}

void ProgramCache::set_priority(int nice) const {
  if (thread_id_ != 0) setpriority(PRIO_PROCESS, static_cast<id_t>(thread_id_), nice);
}

void ProgramCache::work() {
  thread_id_ = static_cast<int>(syscall(SYS_gettid));
  set_priority(kNice);
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || (!queue_.empty() && !is_forking_); });
    if (stop_) return;
    const std::shared_ptr<Program> program = queue_.back();
    queue_.pop_back();
    make(program, lock);
  }
}

void ProgramCache::wait_for(const std::shared_ptr<Program>& program) {
  std::unique_lock lock(mutex_);
  if (program->state == Program::State::requested) {
    std::erase(queue_, program);
    make(program, lock);
  }
  if (program->state >= Program::State::ready) return;
  set_priority(0);  // a caller waits: raise the priority as far as this process may
  changed_.wait(lock, [&] { return program->state >= Program::State::ready; });
  set_priority(kNice);
}

bool ProgramCache::wait_for_all(int64_t milliseconds) {
  std::unique_lock lock(mutex_);
  set_priority(0);  // a caller waits: raise the priority as far as this process may
  const bool is_done =
      changed_.wait_for(lock, std::chrono::milliseconds(milliseconds), [this] { return queue_.empty() && busy_ == 0; });
  set_priority(kNice);
  return is_done;
}

void ProgramCache::evict() {
  const auto most = static_cast<size_t>(std::max<int64_t>(1, settings().max_programs));
  if (found_.size() < most) return;
  std::vector<uint64_t> uses;
  for (const auto& [hash, f] : found_) uses.push_back(f.used);
  const auto middle = uses.begin() + static_cast<std::ptrdiff_t>(uses.size() / 4);
  std::nth_element(uses.begin(), middle, uses.end());
  const uint64_t oldest = *middle;  // evict a quarter at a time
  std::erase_if(found_, [&](const auto& entry) { return entry.second.used <= oldest; });
  for (auto it = families_.begin(); it != families_.end();) {
    std::erase_if(it->second.programs, [](const auto& p) { return p.use_count() == 1; });
    it = it->second.programs.empty() ? families_.erase(it) : std::next(it);
  }
}

void ProgramCache::clear() {
  found_.clear();
  families_.clear();
  const std::lock_guard lock(mutex_);
  queue_.clear();
}

Settings ProgramCache::settings() const {
  const std::lock_guard lock(mutex_);
  return settings_;
}

void ProgramCache::set(const Settings& settings) {
  const std::lock_guard lock(mutex_);
  settings_ = settings;
  is_deterministic_ = settings.deterministic;
}

void ProgramCache::fill(Stats& stats) const {
  const std::lock_guard lock(mutex_);
  stats.compiles = compiles_;
  stats.disk_hits = disk_hits_;
  stats.pending_compiles = static_cast<int64_t>(queue_.size()) + busy_;
  stats.programs = static_cast<int64_t>(found_.size());
}

std::vector<std::string> ProgramCache::explain() const {
  const std::lock_guard lock(mutex_);
  return {lines_.begin(), lines_.end()};
}

void ProgramCache::before_fork() {
  cut_mutex().lock();  // ensures that no thread is in the middle of an evaluation
  std::unique_lock lock(mutex_);
  is_forking_ = true;
  set_priority(0);
  changed_.wait(lock, [this] { return busy_ == 0; });
  lock.release();
}

void ProgramCache::after_fork(bool is_child) {
  is_forking_ = false;
  if (is_child) {  // the parent kept the thread; this process owns the queue now
    has_thread_ = false;
    thread_ = nullptr;
    thread_id_ = 0;
    new (&changed_) std::condition_variable;
  } else {
    set_priority(kNice);
    changed_.notify_all();
  }
  mutex_.unlock();
  cut_mutex().unlock();
}

void ProgramCache::stop() {
  std::thread* thread = nullptr;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    std::swap(thread, thread_);
    queue_.clear();
    set_priority(0);
  }
  changed_.notify_all();
  if (thread == nullptr) return;
  thread->join();
  delete thread;
}

}  // namespace gcc_graph::lazy
