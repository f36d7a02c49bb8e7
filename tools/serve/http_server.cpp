#include "tools/serve/http_server.h"

#include <csignal>
#include <optional>
#include <stdexcept>

#include "tools/serve/connection.h"

namespace gcg::serve {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;

struct HttpServer::State {
  State(const HttpOptions& given, Handler answers)
      : options(given), handler(std::move(answers)), context(1), acceptor(context), signals(context) {}

  HttpOptions options;
  Handler handler;
  std::optional<asio::ssl::context> tls;
  asio::io_context context;  // one thread runs it, so the members below need no lock
  Tcp::acceptor acceptor;
  asio::signal_set signals;
  asio::steady_timer pause{context};
  std::shared_ptr<ConnectionList> connections = std::make_shared<ConnectionList>();
  int signals_seen = 0;

  void read_certificate();
  void listen();
  void accept();
  void accepted(boost::system::error_code error, Tcp::socket socket);
  void stop_when_sent(std::chrono::steady_clock::time_point latest);
  void await_signal(const std::function<void(int)>& on_signal);
};

void HttpServer::State::read_certificate() {
  if (options.certificate.empty()) return;
  tls.emplace(asio::ssl::context::tls_server);
  SSL_CTX_set_min_proto_version(tls->native_handle(), TLS1_2_VERSION);
  tls->set_options(asio::ssl::context::no_compression);
  tls->set_password_callback([](size_t, asio::ssl::context::password_purpose) { return std::string(); });
  boost::system::error_code error;
  tls->use_certificate_chain_file(options.certificate, error);
  if (error)
    throw std::runtime_error("--cert " + options.certificate +
                             " is not a PEM file with certificates: " + error.message());
  tls->use_private_key_file(options.key, asio::ssl::context::pem, error);
  if (error)
    throw std::runtime_error("--key " + options.key +
                             " is not a PEM file with the certificate's private key: " + error.message());
}

void HttpServer::State::listen() {
  try {
    const Tcp::endpoint end(asio::ip::make_address(options.address), options.port);
    acceptor.open(end.protocol());
    acceptor.set_option(Tcp::acceptor::reuse_address(true));
    acceptor.bind(end);
    acceptor.listen();
  } catch (const boost::system::system_error& error) {
    throw std::runtime_error("cannot listen on " + options.address + " port " + std::to_string(options.port) + ": " +
                             error.code().message());
  }
}

void HttpServer::State::accept() {
  acceptor.async_accept(
      [this](boost::system::error_code error, Tcp::socket socket) { accepted(error, std::move(socket)); });
}

void HttpServer::State::accepted(boost::system::error_code error, Tcp::socket socket) {
  if (!acceptor.is_open()) return;
  if (error) {  // for example, no descriptor is left; connections that end will free some
    pause.expires_after(std::chrono::milliseconds(10));
    pause.async_wait([this](boost::system::error_code stopped) {
      if (!stopped && acceptor.is_open()) accept();
    });
    return;
  }
  if (connections->counts.connections >= options.connections) {
    ++connections->counts.refused;  // the destructor closes the socket
  } else {
    ++connections->counts.accepted;
    start_connection(std::move(socket), tls ? &*tls : nullptr, options, handler, connections);
  }
  accept();
}

void HttpServer::State::await_signal(const std::function<void(int)>& on_signal) {
  signals.async_wait([this, on_signal](boost::system::error_code error, int) {
    if (error) return;
    on_signal(++signals_seen);
    await_signal(on_signal);
  });
}

HttpServer::HttpServer(const HttpOptions& options, Handler handler)
    : state_(std::make_shared<State>(options, std::move(handler))) {
  state_->read_certificate();
  state_->listen();
}

HttpServer::~HttpServer() = default;

uint16_t HttpServer::port() const { return state_->acceptor.local_endpoint().port(); }

HttpCounts HttpServer::counts() const { return state_->connections->counts; }

void HttpServer::run(const std::function<void(int)>& on_signal) {
  state_->signals.add(SIGINT);
  state_->signals.add(SIGTERM);
  state_->await_signal(on_signal);
  state_->accept();
  state_->context.run();
}

void HttpServer::close() {
  asio::post(state_->context, [state = state_.get()] {
    boost::system::error_code ignored;
    state->acceptor.close(ignored);
    close_idle(*state->connections);
  });
}

void HttpServer::State::stop_when_sent(std::chrono::steady_clock::time_point latest) {
  if (connections->counts.connections == 0 || std::chrono::steady_clock::now() >= latest) return context.stop();
  pause.expires_after(std::chrono::milliseconds(5));
  pause.async_wait([this, latest](boost::system::error_code) { stop_when_sent(latest); });
}

void HttpServer::stop_when_sent(std::chrono::steady_clock::time_point latest) {
  asio::post(state_->context, [state = state_.get(), latest] { state->stop_when_sent(latest); });
}

void HttpServer::stop() { state_->context.stop(); }

}  // namespace gcg::serve
