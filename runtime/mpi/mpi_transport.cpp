// Messages between the processes of an MPI job. libgart_mpi.so is the only library that is linked to MPI. It opens MPI
// with MPI_THREAD_SERIALIZED, because its caller uses one thread at a time.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "gart/transport.h"

/// MPI counts with an int, so longer messages travel in pieces.
struct gart_message {
  std::vector<MPI_Request> pieces;
  bool is_send = false;
};

namespace {

constexpr size_t kPiece = size_t{1} << 30;

struct Mpi {
  gart_transport table = {};
  MPI_Comm comm = MPI_COMM_NULL;  // a copy of the world, so that no other user's messages match ours
  std::string host, reason;

  bool is_good(int code) {
    if (code == MPI_SUCCESS) return true;
    char words[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, words, &length);
    reason.assign(words, static_cast<size_t>(length));
    return false;
  }
};

Mpi& of(void* self) { return *static_cast<Mpi*>(self); }

void drop(void*, gart_message* message);

/// Starts all pieces by `start(offset, count, request)`.
template <class Start>
gart_message* started(Mpi& mpi, size_t bytes, bool is_send, const Start& start) {
  auto* message = new gart_message{{}, is_send};
  size_t at = 0;
  do {
    const size_t count = std::min(kPiece, bytes - at);
    MPI_Request request = MPI_REQUEST_NULL;
    if (!mpi.is_good(start(at, static_cast<int>(count), &request))) {
      drop(&mpi, message);
      return nullptr;
    }
    message->pieces.push_back(request);
    at += count;
  } while (at < bytes);
  return message;
}

gart_message* send(void* self, int to, int tag, const void* data, size_t bytes) {
  return started(of(self), bytes, true, [&](size_t at, int count, MPI_Request* request) {
    return MPI_Isend(static_cast<const char*>(data) + at, count, MPI_BYTE, to, tag, of(self).comm, request);
  });
}

gart_message* receive(void* self, int from, int tag, void* data, size_t bytes) {
  return started(of(self), bytes, false, [&](size_t at, int count, MPI_Request* request) {
    return MPI_Irecv(static_cast<char*>(data) + at, count, MPI_BYTE, from, tag, of(self).comm, request);
  });
}

int test(void* self, gart_message* message) {
  int done = 0;
  const bool is_good = of(self).is_good(
      MPI_Testall(static_cast<int>(message->pieces.size()), message->pieces.data(), &done, MPI_STATUSES_IGNORE));
  if (is_good && done == 0) return 0;
  delete message;
  return is_good ? 1 : -1;
}

/// A receive can be cancelled. A send cannot in general, so its request is left to MPI.
void drop(void*, gart_message* message) {
  for (MPI_Request& piece : message->pieces) {
    if (piece == MPI_REQUEST_NULL) continue;
    if (message->is_send) {
      MPI_Request_free(&piece);
    } else if (MPI_Cancel(&piece) == MPI_SUCCESS) {
      MPI_Wait(&piece, MPI_STATUS_IGNORE);
    }
  }
  delete message;
}

int probe(void* self, int from, int tag, size_t* bytes) {
  int found = 0, count = 0;
  MPI_Status status;
  if (!of(self).is_good(MPI_Iprobe(from, tag, of(self).comm, &found, &status))) return -1;
  if (found == 0) return 0;
  MPI_Get_count(&status, MPI_BYTE, &count);
  *bytes = static_cast<size_t>(count);
  return 1;
}

const char* reason(void* self) { return of(self).reason.c_str(); }

void close(void* self) {
  MPI_Comm_free(&of(self).comm);
  MPI_Finalize();
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const gart_transport* gart_open_transport(char* why,
                                                                                            size_t capacity) {
  static Mpi mpi;
  const auto refuse = [&](const std::string& text) {
    std::snprintf(why, capacity, "%s", text.c_str());
    return nullptr;
  };
  int is_open = 0, level = 0;
  MPI_Initialized(&is_open);
  if (is_open != 0 || mpi.comm != MPI_COMM_NULL) return refuse("this process has joined an MPI job already");
  if (!mpi.is_good(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level))) return refuse(mpi.reason);
  if (level < MPI_THREAD_SERIALIZED) return refuse("this MPI does not support MPI_THREAD_SERIALIZED");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (!mpi.is_good(MPI_Comm_dup(MPI_COMM_WORLD, &mpi.comm))) return refuse(mpi.reason);
  MPI_Comm_set_errhandler(mpi.comm, MPI_ERRORS_RETURN);
  char host[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0;
  MPI_Get_processor_name(host, &length);
  mpi.host.assign(host, static_cast<size_t>(length));
  mpi.table = {&mpi, 0, 0, mpi.host.c_str(), send, receive, test, drop, probe, reason, close};
  MPI_Comm_rank(mpi.comm, &mpi.table.rank);
  MPI_Comm_size(mpi.comm, &mpi.table.size);
  return &mpi.table;
}
