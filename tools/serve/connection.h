// HTTP connections, each with one request after the other.
#pragma once

#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <memory>
#include <unordered_set>

#include "tools/serve/http_options.h"
#include "tools/serve/messages.h"

namespace gcg::serve {

class Connection;

/// The open connections. Only the server's thread uses it.
struct ConnectionList {
  std::unordered_set<Connection*> open;
  HttpCounts counts;
  bool is_closing = false;  // each connection ends after its reply
};

/// Serves requests from the socket, over TLS unless `tls` is null, until its client or a limit ends it.
void start_connection(boost::asio::ip::tcp::socket socket, boost::asio::ssl::context* tls, const HttpOptions& options,
                      const Handler& handler, const std::shared_ptr<ConnectionList>& list);

/// Closes connections that wait for a request; the others end after their reply.
void close_idle(ConnectionList& list);

}  // namespace gcg::serve
