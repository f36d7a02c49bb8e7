// The in-toto statement of an OpenSSF Model Signing bundle: which files are signed, as JSON.
// https://github.com/sigstore/model-transparency: https://model_signing/signature/v1.0
#pragma once

#include <string>
#include <string_view>

#include "tools/gcc-graph/bundle/signed_files.h"

namespace gcg::tools {

/// Throws Error if a name is not UTF-8, which JSON cannot hold.
std::string statement_of(const SignedFiles& files);

/// `source`: the statement's name in messages. Throws Error for each field that is missing, has another type, or asks
/// for a method that this program does not know, for names that lead out of the folder, and for a digest of all files
/// that is wrong.
SignedFiles read_statement(std::string_view text, const std::string& source);

}  // namespace gcg::tools
