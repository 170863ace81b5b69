#include "bench/protocol_cases.hpp"

#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "protocol/parser.hpp"
#include "protocol/reply.hpp"
#include "runtime/base/random.hpp"

namespace mxkv::bench {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{16} << 10;
constexpr std::size_t kKeyBytes = 24;
constexpr std::size_t kLongKeyBytes = 200;
constexpr std::size_t kValueBytes = 100;
constexpr std::size_t kMultiGetKeys = 100;
constexpr std::uint64_t kLargeNumber = 1'000'000'000'000'000;  // as long as a cas unique
constexpr std::size_t kCasDigits = 16;
constexpr std::size_t kHeaderBytes = std::string_view("VALUE  0 100\r\n").size() + kKeyBytes;
constexpr std::size_t kItemBytes = kHeaderBytes + kValueBytes + protocol::kCrLf.size();

std::string random_key(runtime::Random& random, std::size_t bytes) {
  std::string key = "user";
  while (key.size() < bytes) {
    key += static_cast<char>('0' + random.below(10));
  }
  return key;
}

using RequestMaker = std::function<std::string(runtime::Random&)>;

/// As many requests as the buffer holds, at least one.
struct Stream {
  explicit Stream(const RequestMaker& make) {
    runtime::Random random(1);
    for (std::string next = make(random); requests == 0 || text.size() + next.size() <= kBufferBytes;
         next = make(random)) {
      text += next;
      ++requests;
    }
  }

  std::string text;
  std::size_t requests = 0;
};

/// Parses the stream as a connection does: skips the data block behind a line of a storage command, and takes
/// the keys of a retrieval one by one.
Pass parse_all(const protocol::Parser& parser, std::string_view stream) {
  Pass done;
  protocol::LineState line;
  protocol::Request request;
  while (done.bytes < stream.size()) {
    const protocol::Parsed parsed =
        parser.parse(stream.data() + done.bytes, stream.size() - done.bytes, line, request);
    if (parsed.what != protocol::outcome::request) {
      return done;
    }
    done.bytes += parsed.consumed;
    if (protocol::is_storage(request.op)) {
      done.bytes += request.value_bytes + protocol::kCrLf.size();
    }
    if (protocol::is_retrieval(request.op) && request.key_count > 1) {
      for (std::string_view rest = request.keys; !protocol::next_key(rest).empty();) {
        benchmark::DoNotOptimize(rest);
      }
    }
    benchmark::DoNotOptimize(request.key);
    ++done.requests;
  }
  return done;
}

Case parse_case(const std::string& name, const RequestMaker& make) {
  const Stream stream(make);
  const protocol::Parser parser{protocol::ParserLimits{}};
  return {"parse/" + name,
          [parser, text = stream.text] { return parse_all(parser, text); },
          {stream.requests, stream.text.size()}};
}

/// Fills a buffer with replies. `write` writes one at the given place and returns the place behind it.
template <class Write>
Pass write_all(const Write& write, std::vector<char>& memory) {
  Pass done;
  char* at = memory.data();
  for (; static_cast<std::size_t>(at - memory.data()) < kBufferBytes; ++done.requests) {
    at = write(at, done.requests);
  }
  benchmark::DoNotOptimize(memory.data());
  benchmark::ClobberMemory();
  done.bytes = static_cast<std::size_t>(at - memory.data());
  return done;
}

/// `bytes_each`: the bytes of a reply, equal for all.
template <class Write>
Case write_case(const std::string& name, std::size_t bytes_each, const Write& write) {
  const std::size_t wanted = (kBufferBytes + bytes_each - 1) / bytes_each;
  return {
      "write/" + name,
      [write, memory = std::vector<char>(2 * kBufferBytes)]() mutable { return write_all(write, memory); },
      {wanted, wanted * bytes_each}};
}

char* write_item(char* at, const std::string& key, const std::string& value) {
  at = protocol::write_value_header(at, key, 0, value.size(), nullptr);
  return protocol::write_text(protocol::write_text(at, value), protocol::kCrLf);
}

std::vector<std::string> random_keys(std::size_t count) {
  runtime::Random random(2);
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < count; ++i) {
    keys.push_back(random_key(random, kKeyBytes));
  }
  return keys;
}

std::vector<Case> parse_cases() {
  const auto key = [](runtime::Random& random) { return random_key(random, kKeyBytes); };
  const auto storage = [key](const std::string& verb, std::size_t bytes, const std::string& end) {
    return [=](runtime::Random& random) {
      return verb + " " + key(random) + " 0 0 " + std::to_string(bytes) + end + "\r\n" +
             std::string(bytes, 'v') + "\r\n";
    };
  };
  const auto one_key = [key](const std::string& verb, const std::string& end) {
    return [=](runtime::Random& random) { return verb + " " + key(random) + end + "\r\n"; };
  };
  return {
      parse_case("get", one_key("get", "")),
      parse_case("get-long-key",
                 [](runtime::Random& random) { return "get " + random_key(random, kLongKeyBytes) + "\r\n"; }),
      parse_case("gets", one_key("gets", "")),
      parse_case("multi-get",
                 [key](runtime::Random& random) {
                   std::string line = "get";
                   for (std::size_t i = 0; i < kMultiGetKeys; ++i) {
                     line += " " + key(random);
                   }
                   return line + "\r\n";
                 }),
      parse_case("set", storage("set", kValueBytes, "")),
      parse_case("set-noreply", storage("set", kValueBytes, " noreply")),
      parse_case("add", storage("add", kValueBytes, "")),
      parse_case("incr", one_key("incr", " 1")),
      parse_case("delete", one_key("delete", "")),
      parse_case("touch", one_key("touch", " 3600")),
      parse_case("scan", one_key("scan", " 100")),
  };
}

std::vector<Case> write_cases() {
  const auto keys = random_keys(1024);
  const std::string value(kValueBytes, 'v');
  return {
      write_case("header", kHeaderBytes,
                 [keys](char* at, std::size_t index) {
                   return protocol::write_value_header(at, keys[index % keys.size()], 0, kValueBytes,
                                                       nullptr);
                 }),
      write_case("header-with-cas", kHeaderBytes + 1 + kCasDigits,
                 [keys](char* at, std::size_t index) {
                   const std::uint64_t cas = kLargeNumber + index;
                   return protocol::write_value_header(at, keys[index % keys.size()], 0, kValueBytes, &cas);
                 }),
      write_case("get", kItemBytes + protocol::kEnd.size(),
                 [keys, value](char* at, std::size_t index) {
                   return protocol::write_text(write_item(at, keys[index % keys.size()], value),
                                               protocol::kEnd);
                 }),
      write_case("scan-item", kItemBytes,
                 [keys, value](char* at, std::size_t index) {
                   return write_item(at, keys[index % keys.size()], value);
                 }),
      write_case("stored", protocol::kStored.size(),
                 [](char* at, std::size_t) { return protocol::write_text(at, protocol::kStored); }),
      write_case(
          "number", kCasDigits,
          [](char* at, std::size_t index) { return protocol::write_number(at, kLargeNumber + index); }),
  };
}

/// Copies requests without parsing them: the cost of their bytes alone.
Case memcpy_case() {
  const auto copy = [from = std::string(kBufferBytes, 'x'), to = std::string(kBufferBytes, 'y')]() mutable {
    benchmark::DoNotOptimize(from.data());
    std::memcpy(to.data(), from.data(), from.size());
    benchmark::DoNotOptimize(to.data());
    benchmark::ClobberMemory();
    return Pass{from.size() / (kKeyBytes + 6), from.size()};
  };
  return {"memcpy", copy, {kBufferBytes / (kKeyBytes + 6), kBufferBytes}};
}

}  // namespace

std::vector<Case> protocol_cases() {
  std::vector<Case> cases = parse_cases();
  for (Case& next : write_cases()) {
    cases.push_back(std::move(next));
  }
  cases.push_back(memcpy_case());
  return cases;
}

}  // namespace mxkv::bench
