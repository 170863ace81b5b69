// /status.json and /prefixes.json: what the page shows, as JSON.
#pragma once

#include <string>
#include <string_view>

#include "server/admin/health.hpp"
#include "server/admin/http_pages.hpp"
#include "server/admin/prefix_sizes.hpp"
#include "server/admin/recorder.hpp"
#include "server/admin/serving_parts.hpp"

namespace mxkv::server {

/// `parts`: null: nothing serves yet, or any more. `keys`: also keys and clients. Thread-safety: the server's thread.
[[nodiscard]] std::string status_json(const Health::State& state, const Recorder& recorder,
                                      const ServingParts* parts, bool keys);

/// The groups that hold most, and one for all others.
[[nodiscard]] std::string prefixes_json(const PrefixSizes& sizes);

/// A text in a query of a URL, by percents; and back. What is no such text comes out as it is.
[[nodiscard]] std::string in_percents(std::string_view text);
[[nodiscard]] std::string out_of_percents(std::string_view text);
/// What `name=` says in a query; empty: nothing.
[[nodiscard]] std::string query_value(std::string_view query, std::string_view name);

}  // namespace mxkv::server
