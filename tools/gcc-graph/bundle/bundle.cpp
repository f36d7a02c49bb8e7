#include "tools/gcc-graph/bundle/bundle.h"

#include <openssl/evp.h>

#include "tools/gcc-graph/bundle/json_fields.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

constexpr const char* kBundle = "application/vnd.dev.sigstore.bundle.v0.3+json";
constexpr const char* kPayload = "application/vnd.in-toto+json";

std::string to_base64(std::string_view bytes) {
  std::string out(((bytes.size() + 2) / 3 * 4) + 1, '\0');  // EVP_EncodeBlock ends its text with NUL
  const int size = EVP_EncodeBlock(reinterpret_cast<uint8_t*>(out.data()),
                                   reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size()));
  out.resize(static_cast<size_t>(size));
  return out;
}

/// Accepts only the one text that to_base64 makes, so each bundle has one meaning.
std::string from_base64(const JsonObject& object, const char* field) {
  const std::string text = object.text(field);
  std::string out(text.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<uint8_t*>(out.data()),
                                   reinterpret_cast<const uint8_t*>(text.data()), static_cast<int>(text.size()));
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  out.resize(size < static_cast<int>(padding) ? 0 : static_cast<size_t>(size) - padding);
  if (size < 0 || to_base64(out) != text) fail(object.where, ": ", field, " is not Base64");
  return out;
}

/// The bytes that DSSE signs.
std::string signed_bytes(const std::string& payload) {
  return concat("DSSEv1 ", std::string_view(kPayload).size(), ' ', kPayload, ' ', payload.size(), ' ', payload);
}

/// Bundles before v1.0 of model-signing have no hint.
std::optional<std::string> hint_in(const JsonObject& material) {
  for (const char* other : {"certificate", "x509CertificateChain"})
    if (material.has(other))
      fail(material.where, ": it has the field '", other,
           "', but this program verifies only signatures by a publicKey");
  material.allow_only({"publicKey", "tlogEntries", "timestampVerificationData"});
  const JsonObject key = material.object("publicKey");
  key.allow_only({"hint", "rawBytes", "keyDetails"});
  if (!key.has("hint")) return std::nullopt;
  return key.text("hint");
}

}  // namespace

std::string bundle_of(const std::string& statement, const CurveKey& key) {
  const std::vector<uint8_t> signature = key.sign(signed_bytes(statement));
  const std::string signature_text(signature.begin(), signature.end());
  OrderedJson signatures = OrderedJson::array();
  signatures.push_back({{"sig", to_base64(signature_text)}, {"keyid", ""}});
  return OrderedJson{
      {"mediaType", kBundle},
      {"verificationMaterial", {{"publicKey", {{"hint", key.hint()}}}, {"tlogEntries", OrderedJson::array()}}},
      {"dsseEnvelope", {{"payload", to_base64(statement)}, {"payloadType", kPayload}, {"signatures", signatures}}}}
      .dump();
}

std::optional<std::string> statement_signed_by(const CurveKey& key, std::string_view text, const std::string& source) {
  const JsonObject bundle = read_object(text, source);
  bundle.require("mediaType", kBundle);
  if (bundle.has("messageSignature")) fail(source, ": it has a messageSignature, expected a dsseEnvelope");
  bundle.allow_only({"mediaType", "verificationMaterial", "dsseEnvelope"});
  const std::optional<std::string> hint = hint_in(bundle.object("verificationMaterial"));
  const JsonObject envelope = bundle.object("dsseEnvelope");
  envelope.allow_only({"payload", "payloadType", "signatures"});
  envelope.require("payloadType", kPayload);
  if (const size_t count = envelope.list("signatures").size(); count != 1)
    fail(envelope.where, ": signatures has ", count, " elements, expected 1");
  const JsonObject signature = envelope.element("signatures", 0);
  signature.allow_only({"sig", "keyid"});
  std::string payload = from_base64(envelope, "payload");
  const std::string bytes = from_base64(signature, "sig");
  if (hint && *hint != key.hint()) return std::nullopt;
  const std::span<const uint8_t> der(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  if (!key.has_signed(signed_bytes(payload), der)) return std::nullopt;
  return payload;
}

}  // namespace gcg::tools
