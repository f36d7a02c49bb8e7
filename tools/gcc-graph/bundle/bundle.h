// Sigstore bundles (v0.3) whose DSSE envelope was signed by a key: the file format of OpenSSF Model Signing.
// https://docs.sigstore.dev/about/bundle, https://github.com/secure-systems-lab/dsse
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tools/gcc-graph/bundle/curve_key.h"

namespace gcg::tools {

/// The bundle's text. `statement`: the in-toto statement that is signed.
std::string bundle_of(const std::string& statement, const CurveKey& key);

/// The statement in the bundle; nullopt if this key has not signed it. `source`: the bundle's name in messages. Throws
/// Error unless the text is a bundle of this version with one signature by a key.
std::optional<std::string> statement_signed_by(const CurveKey& key, std::string_view bundle, const std::string& source);

}  // namespace gcg::tools
