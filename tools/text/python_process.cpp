#include "tools/text/python_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {

std::vector<std::string> python_candidates() {
  std::vector<std::string> out;
  const char *named = std::getenv("GCC_GRAPH_PYTHON"), *environment = std::getenv("VIRTUAL_ENV");
  if (named != nullptr && *named != '\0') out.emplace_back(named);
  if (environment != nullptr && *environment != '\0') out.push_back(std::string(environment) + "/bin/python");
  out.emplace_back("python3");
  return out;
}

PythonProcess::PythonProcess(const std::string& python, const std::string& script,
                             const std::vector<std::string>& arguments) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    fail("no connection to ", python, ": ", std::strerror(errno));
  std::vector<std::string> words = {python, "-c", script};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  // A socket of a server would otherwise stay open as long as the child runs.
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  const int error = posix_spawnp(&pid_, python.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error != 0) {
    close(ends[0]);
    fail(python, " does not start: ", std::strerror(error));
  }
  socket_ = ends[0];
}

PythonProcess::~PythonProcess() {
  close(socket_);
  kill(pid_, SIGKILL);  // the process has nothing to save
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool PythonProcess::send(const std::string& line) {
  const std::string text = line + '\n';
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = ::send(socket_, text.data() + done, text.size() - done, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

std::optional<std::string> PythonProcess::receive() {
  while (true) {
    if (const size_t end = unread_.find('\n'); end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    char buffer[1 << 16];
    const ssize_t n = recv(socket_, buffer, sizeof buffer, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return std::nullopt;
    unread_.append(buffer, static_cast<size_t>(n));
  }
}

}  // namespace gcg::tools
