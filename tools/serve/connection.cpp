#include "tools/serve/connection.h"

#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <charconv>
#include <optional>
#include <type_traits>
#include <utility>

#include "tools/serve/header_buffer.h"

namespace gcg::serve {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using Error = beast::error_code;

namespace {

constexpr size_t kSlowestBytesPerSecond = 16 << 10;  // slower transfers of a body are cut off

constexpr size_t kWatchedBytes = 512;  // bytes that are read at a time while a request runs

constexpr std::chrono::seconds kLinger{2};  // time for a client that is still sending to read the last reply

/// The status of the reply to a request that cannot be read. 0: the client has closed the connection.
unsigned status_of(const Error& error) {
  if (error == http::error::body_limit) return 413;
  if (error == http::error::header_limit) return 431;
  if (error == beast::error::timeout) return 408;
  if (error.category() == Error(http::error::bad_method).category() && error != http::error::end_of_stream &&
      error != http::error::partial_message)
    return 400;
  return 0;
}

/// A piece of a body of unknown length, as HTTP/1.1 wants it.
std::string as_chunk(const std::string& text) {
  if (text.empty()) return text;
  char digits[16];
  const char* end = std::to_chars(digits, digits + sizeof digits, text.size(), 16).ptr;
  return std::string(static_cast<const char*>(digits), end) + "\r\n" + text + "\r\n";
}

}  // namespace

class Connection {
 public:
  virtual ~Connection() = default;
  virtual void close_if_idle() = 0;
};

namespace {

/// `Stream`: a beast::tcp_stream, or TLS over one.
template <class Stream>
class HttpConnection final : public Connection, public std::enable_shared_from_this<HttpConnection<Stream>> {
 public:
  template <class... Tls>
  HttpConnection(asio::ip::tcp::socket socket, const HttpOptions& options, const Handler& handler,
                 std::shared_ptr<ConnectionList> list, Tls&... tls)
      : stream_(std::move(socket), tls...), options_(options), handler_(handler), list_(std::move(list)) {
    list_->open.insert(this);
    ++list_->counts.connections;
    Error ignored;
    tcp().socket().set_option(asio::ip::tcp::no_delay(true), ignored);
  }
  ~HttpConnection() override {
    list_->open.erase(this);
    --list_->counts.connections;
  }
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  void start();
  void close_if_idle() override {
    if (is_idle_) tcp().close();
  }

 private:
  static constexpr bool kIsTls = !std::is_same_v<Stream, beast::tcp_stream>;
  using Parser = http::request_parser<http::string_body>;

  struct Pending;

  beast::tcp_stream& tcp() { return beast::get_lowest_layer(stream_); }
  void read_header();
  void got_header(Error error);
  void read_body();
  void handle();
  void watch();
  void watched(Error error, size_t bytes);
  void send(HttpReply reply);
  template <class Body>
  void set_head(http::response<Body>& to, const HttpReply& reply);
  void send_stream(const HttpReply& reply);
  void send_more();
  void sent_piece(Error error, bool is_last);
  void sent(Error error);
  void next();
  void leave();
  void refuse(Error error);
  void end();
  void end_tcp();
  void discard();

  Stream stream_;
  HeaderBuffer buffer_;
  std::chrono::steady_clock::time_point body_begin_;
  std::optional<Parser> parser_;
  std::optional<http::response<http::string_body>> reply_;
  const HttpOptions& options_;
  const Handler& handler_;
  std::shared_ptr<ConnectionList> list_;
  bool is_idle_ = true, keeps_alive_ = false, is_head_ = false;
  unsigned version_ = 11;
  std::shared_ptr<Client> client_;                        // the client of the current request
  bool is_watching_ = false;                              // a read waits; it fails when the client leaves
  bool is_answered_ = false;                              // the reply is complete, but the read has not ended
  std::optional<http::response<http::empty_body>> head_;  // the head of a reply that is sent in pieces
  std::optional<http::response_serializer<http::empty_body>> head_writer_;
  std::shared_ptr<ReplyStream> pieces_;  // not null while a reply is sent in pieces
  std::string piece_;
  bool is_sending_ = false;  // the head or a piece
  char discarded_[4096];
};

/// The answer that a connection waits for. Only the server's thread sends the reply and destroys the connection.
template <class Stream>
struct HttpConnection<Stream>::Pending {
  explicit Pending(std::shared_ptr<HttpConnection> waiting) : self(std::move(waiting)) {}
  ~Pending() {
    if (self) answer(error_reply(500, "the request got no answer"));
  }
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;

  void answer(HttpReply reply) {
    const auto executor = self->stream_.get_executor();
    asio::dispatch(executor, [to = std::exchange(self, nullptr), sent = std::move(reply)]() mutable {
      to->send(std::move(sent));
    });
  }
  std::shared_ptr<HttpConnection> self;
};

template <class Stream>
void HttpConnection<Stream>::start() {
  if constexpr (kIsTls) {
    tcp().expires_after(options_.idle);
    stream_.async_handshake(asio::ssl::stream_base::server, [self = this->shared_from_this()](Error error) {
      if (!error) self->read_header();
    });
  } else {
    read_header();
  }
}

template <class Stream>
void HttpConnection<Stream>::read_header() {
  is_idle_ = true;
  buffer_.begin_header();
  parser_.emplace();
  parser_->header_limit(static_cast<uint32_t>(options_.header));
  parser_->body_limit(options_.body);
  tcp().expires_after(options_.idle);
  http::async_read_header(stream_, buffer_, *parser_,
                          [self = this->shared_from_this()](Error error, size_t) { self->got_header(error); });
}

template <class Stream>
void HttpConnection<Stream>::got_header(Error error) {
  is_idle_ = false;
  if (error) return refuse(error);
  const auto& head = parser_->get();
  version_ = head.version();
  is_head_ = head.method() == http::verb::head;
  if (const auto length = parser_->content_length(); length && *length > options_.body)
    return refuse(http::error::body_limit);
  // In these cases, a proxy and this server could disagree about the end of the body.
  const size_t lengths = head.count(http::field::content_length), codings = head.count(http::field::transfer_encoding);
  if (codings > 0 && (version_ != 11 || !beast::iequals(head[http::field::transfer_encoding], "chunked")))
    return refuse(http::error::bad_transfer_encoding);
  if (buffer_.has_folded_line()) return refuse(http::error::bad_obs_fold);
  if (lengths + codings > 1 || (head.count(http::field::host) != 1 && version_ == 11))
    return refuse(http::error::bad_field);
  parser_->eager(true);  // reads all chunks that have arrived
  body_begin_ = std::chrono::steady_clock::now();
  if (!beast::iequals(head[http::field::expect], "100-continue")) return read_body();
  reply_.emplace(http::status::continue_, version_);
  http::async_write(stream_, *reply_, [self = this->shared_from_this()](Error failed, size_t) {
    if (!failed) self->read_body();
  });
}

/// A client gets time for the bytes that it has sent, not for those that it promises.
template <class Stream>
void HttpConnection<Stream>::read_body() {
  if (parser_->is_done()) return handle();
  const size_t bytes = parser_->get().body().size();
  tcp().expires_at(body_begin_ + options_.idle + std::chrono::seconds(bytes / kSlowestBytesPerSecond));
  http::async_read_some(stream_, buffer_, *parser_, [self = this->shared_from_this()](Error error, size_t) {
    error ? self->refuse(error) : self->read_body();
  });
}

template <class Stream>
void HttpConnection<Stream>::handle() {
  ++list_->counts.requests;
  auto request = parser_->release();
  keeps_alive_ = request.keep_alive();
  const auto text = [&](auto field) { return std::string(request[field]); };
  HttpRequest given;
  given.method = std::string(request.method_string());
  given.target = std::string(request.target());
  given.authorization = text(http::field::authorization);
  given.content_encoding = text(http::field::content_encoding);
  given.accept_encoding = text(http::field::accept_encoding);
  given.json_length = text("Inference-Header-Content-Length");
  given.body = std::move(request.body());
  client_ = given.client = std::make_shared<Client>();
  tcp().expires_never();  // the time of the run does not count against the client
  handler_(std::move(given), [pending = std::make_shared<Pending>(this->shared_from_this())](HttpReply reply) {
    if (pending->self) pending->answer(std::move(reply));
  });
  if (client_->is_watched()) watch();
}

/// Reads while the request runs, because only a read fails when the client leaves. Data belongs to the next request.
template <class Stream>
void HttpConnection<Stream>::watch() {
  is_watching_ = true;
  tcp().expires_never();
  stream_.async_read_some(buffer_.prepare(kWatchedBytes), [self = this->shared_from_this()](Error error, size_t bytes) {
    self->watched(error, bytes);
  });
}

template <class Stream>
void HttpConnection<Stream>::watched(Error error, size_t bytes) {
  is_watching_ = false;
  buffer_.commit(bytes);
  if (std::exchange(is_answered_, false)) return error && error != asio::error::operation_aborted ? leave() : next();
  if (error) return leave();
  if (buffer_.size() < options_.header) watch();
}

template <class Stream>
void HttpConnection<Stream>::leave() {
  if (client_) client_->leave();
  if (pieces_) pieces_->detach();
  pieces_ = nullptr;
  tcp().close();
}

template <class Stream>
template <class Body>
void HttpConnection<Stream>::set_head(http::response<Body>& to, const HttpReply& reply) {
  if (!reply.type.empty()) to.set(http::field::content_type, reply.type);
  if (!reply.encoding.empty()) to.set(http::field::content_encoding, reply.encoding);
  if (reply.json_length) to.set("Inference-Header-Content-Length", std::to_string(*reply.json_length));
  if (reply.status == 429 || reply.status == 503) to.set(http::field::retry_after, "1");
  if (reply.status == 401) to.set(http::field::www_authenticate, "Bearer");
  keeps_alive_ = keeps_alive_ && !reply.closes && !list_->is_closing;
  to.keep_alive(keeps_alive_);
}

template <class Stream>
void HttpConnection<Stream>::send(HttpReply reply) {
  if (reply.stream) return send_stream(reply);
  reply_.emplace(static_cast<http::status>(reply.status), version_);
  set_head(*reply_, reply);
  reply_->body() = std::move(reply.body);
  reply_->prepare_payload();
  if (is_head_) reply_->body().clear();
  tcp().expires_after(options_.idle + std::chrono::seconds(reply_->body().size() / kSlowestBytesPerSecond));
  http::async_write(stream_, *reply_, [self = this->shared_from_this()](Error error, size_t) { self->sent(error); });
}

template <class Stream>
void HttpConnection<Stream>::send_stream(const HttpReply& reply) {
  if (client_->has_left()) return reply.stream->detach();
  head_.emplace(static_cast<http::status>(reply.status), version_);
  keeps_alive_ = keeps_alive_ && version_ == 11;  // before HTTP/1.1, only the connection's end ends such a body
  set_head(*head_, reply);
  head_->set(http::field::cache_control, "no-cache");
  head_->chunked(version_ == 11);
  head_writer_.emplace(*head_);
  pieces_ = reply.stream;
  is_sending_ = true;
  tcp().expires_after(options_.idle);
  http::async_write_header(stream_, *head_writer_,
                           [self = this->shared_from_this()](Error error, size_t) { self->sent_piece(error, false); });
  pieces_->attach(
      [self = this->shared_from_this()] { asio::post(self->stream_.get_executor(), [self] { self->send_more(); }); });
}

template <class Stream>
void HttpConnection<Stream>::send_more() {
  if (is_sending_ || !pieces_) return;
  const ReplyStream::Pieces pieces = pieces_->take();
  if (pieces.text.empty() && !pieces.is_last) return;
  piece_ = version_ == 11 ? as_chunk(pieces.text) + (pieces.is_last ? "0\r\n\r\n" : "") : pieces.text;
  is_sending_ = true;
  tcp().expires_after(options_.idle + std::chrono::seconds(piece_.size() / kSlowestBytesPerSecond));
  asio::async_write(stream_, asio::buffer(piece_),
                    [self = this->shared_from_this(), is_last = pieces.is_last](Error error, size_t) {
                      self->sent_piece(error, is_last);
                    });
}

template <class Stream>
void HttpConnection<Stream>::sent_piece(Error error, bool is_last) {
  is_sending_ = false;
  if (error || !pieces_) return leave();
  if (!is_last) return send_more();
  pieces_->detach();
  pieces_ = nullptr;
  sent({});
}

template <class Stream>
void HttpConnection<Stream>::sent(Error error) {
  if (error) return leave();
  if (!is_watching_) return next();
  is_answered_ = true;
  tcp().cancel();
}

template <class Stream>
void HttpConnection<Stream>::next() {
  client_ = nullptr;
  if (!keeps_alive_) return end();
  read_header();
}

/// Tells the client the reason and ends the connection, because the beginning of a next request is not known.
template <class Stream>
void HttpConnection<Stream>::refuse(Error error) {
  const unsigned status = status_of(error);
  if (status == 0 || (status == 408 && buffer_.size() == 0)) return end();
  keeps_alive_ = false;
  send(error_reply(status, "the request cannot be read: " + error.message()));
}

template <class Stream>
void HttpConnection<Stream>::end() {
  tcp().expires_after(kLinger);
  if constexpr (kIsTls) {
    stream_.async_shutdown([self = this->shared_from_this()](Error) { self->end_tcp(); });
  } else {
    end_tcp();
  }
}

template <class Stream>
void HttpConnection<Stream>::end_tcp() {
  Error ignored;
  tcp().socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  tcp().expires_after(kLinger);
  discard();
}

/// Reads the rest of the client's data: closing the socket at once would lose the reply if the client is still sending.
template <class Stream>
void HttpConnection<Stream>::discard() {
  tcp().async_read_some(asio::buffer(discarded_), [self = this->shared_from_this()](Error error, size_t) {
    if (!error) self->discard();
  });
}

}  // namespace

void start_connection(asio::ip::tcp::socket socket, asio::ssl::context* tls, const HttpOptions& options,
                      const Handler& handler, const std::shared_ptr<ConnectionList>& list) {
  if (tls == nullptr)
    std::make_shared<HttpConnection<beast::tcp_stream>>(std::move(socket), options, handler, list)->start();
  else
    std::make_shared<HttpConnection<beast::ssl_stream<beast::tcp_stream>>>(std::move(socket), options, handler, list,
                                                                           *tls)
        ->start();
}

void close_idle(ConnectionList& list) {
  list.is_closing = true;
  for (Connection* connection : list.open) connection->close_if_idle();
}

}  // namespace gcg::serve
