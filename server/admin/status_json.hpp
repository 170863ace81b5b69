// /status.json and /prefixes.json: the page's data as JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/admin/health.hpp"
#include "server/admin/http_pages.hpp"
#include "server/admin/prefix_sizes.hpp"
#include "server/admin/recorder.hpp"
#include "server/admin/serving_parts.hpp"

namespace mxkv::server {

/// `parts` null: the server does not serve yet, or any more. `keys`: include keys and clients. Thread-safety:
/// the server's thread.
[[nodiscard]] std::string status_json(const Health::State& state, const Recorder& recorder,
                                      const ServingParts* parts,
                                      const std::vector<CertificateEnd>& certificates, bool keys);

/// The largest groups, and one for all others.
[[nodiscard]] std::string prefixes_json(const PrefixSizes& sizes);

/// Encodes a text for a URL's query, with percent signs, and decodes it. The decoder turns + into a space and
/// keeps malformed escapes.
[[nodiscard]] std::string in_percents(std::string_view text);
[[nodiscard]] std::string out_of_percents(std::string_view text);
/// The decoded value of `name=` in a query; empty: it has none.
[[nodiscard]] std::string query_value(std::string_view query, std::string_view name);

}  // namespace mxkv::server
