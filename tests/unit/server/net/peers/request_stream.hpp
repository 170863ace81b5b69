// Random requests of the text protocol, of each kind, valid and invalid, about few keys.
#pragma once

#include <array>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "protocol/numbers.hpp"
#include "protocol/reply.hpp"

namespace mxkv::server::test {

inline std::string base64_of(std::string_view key) {
  std::string text(4 * ((key.size() + 2) / 3), '\0');
  protocol::write_base64(text.data(), key);
  return text;
}

/// Requests of one client, about keys that no other client uses.
class RequestStream {
 public:
  struct Kinds {
    bool ranges = true;
    bool batches = true;
    bool flushes = true;
  };

  RequestStream(unsigned seed, std::string prefix, Kinds kinds)
      : dice_(seed), prefix_(std::move(prefix)), kinds_(kinds) {}

  std::string next() {
    const unsigned kind = below(100);
    if (kind < 35) {
      return classic();
    }
    if (kind < 70) {
      return meta();
    }
    if (kind < 88 && kinds_.ranges) {
      return below(2) == 0 ? scan() : meta_range();
    }
    if (kind < 94 && kinds_.batches) {
      return batch();
    }
    return odd();
  }
  /// A cursor of an earlier reply: pages continue after it.
  void know_cursor(std::string cursor, bool meta) { (meta ? meta_cursor_ : cursor_) = std::move(cursor); }
  unsigned below(unsigned n) { return static_cast<unsigned>(dice_() % n); }

 private:
  template <typename... Text>
  std::string one_of(const Text&... texts) {
    const std::array<std::string, sizeof...(Text)> all{texts...};
    return all[below(sizeof...(Text))];
  }
  std::string text_key() {
    switch (below(12)) {
      case 0:
        return prefix_ + std::string(250 - prefix_.size(), 'L');
      case 1:
        return prefix_ + "[" + std::to_string(below(3));
      case 2:
        return prefix_ + "\x01\xff";
      case 3:
        return (prefix_.empty() ? "(" : prefix_) + std::to_string(below(3));
      default: {
        const std::string letter(1, static_cast<char>('a' + below(26)));
        return prefix_ + letter + std::to_string(below(3));
      }
    }
  }
  std::string raw_key() {
    switch (below(6)) {
      case 0:
        return prefix_ + "\r\nget x\r\n";
      case 1:
        return prefix_ + std::string("\0 b", 3);
      case 2:
        return prefix_ + std::string(250 - prefix_.size(), 'R');
      case 3:
        return prefix_ + "z MN\r\n";
      default:
        return text_key();
    }
  }
  std::string number() { return one_of("0", "1", "2", "7", "41", "18446744073709551615", "100000"); }
  std::string time() { return one_of("0", "0", "0", "100", "-1", "2592000", "2592001", "90"); }
  std::string noreply() { return one_of("", "", "", " noreply"); }
  std::string value() {
    switch (below(10)) {
      case 0:
        return "";
      case 1:
        return std::string(20'000, 'v');
      case 2:
        return std::string(8192, 'e');
      case 3:
        return "MN\r\nEND\r\nHD\r\n";
      case 4:
      case 5:
      case 6:
        return std::to_string(below(1000));
      default:
        return "value " + std::to_string(below(100'000));
    }
  }
  std::string block(const std::string& value) { return value + (below(6) == 0 ? "xx" : "\r\n"); }

  std::string classic() {
    const std::string key = text_key();
    switch (below(8)) {
      case 0: {
        const std::string text = value();
        return "cas " + key + " 3 " + time() + " " + std::to_string(text.size()) + " " + number() +
               noreply() + "\r\n" + block(text);
      }
      case 1:
      case 2: {
        const std::string text = value();
        return one_of("set ", "set ", "add ", "replace ", "append ", "prepend ", "put ") + key + " " +
               one_of("0", "5", "4294967295", "x") + " " + time() + " " + std::to_string(text.size()) +
               noreply() + "\r\n" + text + "\r\n";
      }
      case 3:
        return one_of("incr ", "decr ") + key + " " + one_of("1", "5", "x", "18446744073709551615") +
               noreply() + "\r\n";
      case 4:
        return "delete " + key + one_of("", "", " 0", " 1") + noreply() + "\r\n";
      case 5:
        return "touch " + key + " " + time() + noreply() + "\r\n";
      case 6: {
        std::string line = one_of("gat ", "gats ") + time();
        for (unsigned keys = 1 + below(3); keys > 0; --keys) {
          line += " " + text_key();
        }
        return line + "\r\n";
      }
      default: {
        std::string line = one_of("get", "get", "gets");
        for (unsigned keys = 1 + below(5); keys > 0; --keys) {
          line += one_of(" ", " ", "  ") + text_key();
        }
        return line + one_of("", " ") + "\r\n";
      }
    }
  }

  std::string flag() {
    switch (below(24)) {
      case 0:
        return "T" + time();
      case 1:
        return "N" + time();
      case 2:
        return "R" + one_of("30", "1000000", "0");
      case 3:
        return "C" + number();
      case 4:
        return "E" + one_of("5", "77", "9007199254740993");
      case 5:
        return "O" + one_of("abc", "1", "");
      case 6:
        return "F" + one_of("0", "9", "4294967295");
      case 7:
        return "M" + one_of("A", "P", "E", "R", "S", "I", "D", "+", "-", "", "z");
      case 8:
        return "D" + number();
      case 9:
        return "J" + number();
      default:
        return one_of("v", "v", "v", "k", "f", "s", "t", "c", "h", "l", "q", "q", "u", "I", "x", "P1", "L2",
                      "?", "v");
    }
  }
  std::string meta_line(const std::string& verb, std::string& data) {
    const bool binary = below(4) == 0;
    std::string line = verb + " " + (binary ? base64_of(raw_key()) : text_key());
    if (verb == "ms") {
      data = value();
      line += " " + std::to_string(data.size());
    }
    for (unsigned flags = below(5); flags > 0; --flags) {
      line += " " + flag();
    }
    return line + (binary ? " b" : "") + "\r\n";
  }
  std::string meta() {
    const std::string verb = one_of("mg", "mg", "mg", "ms", "ms", "md", "ma", "me");
    std::string data;
    const std::string line = meta_line(verb, data);
    return line + (verb == "ms" ? block(data) : "");
  }

  std::string bound() { return one_of("[", "(") + text_key(); }
  std::string scan() {
    std::string line;
    const std::string s = one_of("", "s");
    bool base64 = false;
    switch (below(5)) {
      case 0:
        line = "scan" + s + " " + one_of("-", "+", "", "") + text_key();
        line += " " + std::to_string(1 + below(30));
        break;
      case 1:
        line = "scan" + s + " " + one_of(bound(), std::string("-"), text_key()) + " " +
               one_of(bound(), std::string("+"), std::string("-")) + " " + std::to_string(1 + below(30));
        break;
      case 2:
        line = "pscan" + s + " " + text_key().substr(0, 1 + below(2)) + " " + std::to_string(1 + below(30));
        break;
      case 3:
        base64 = true;
        line = "scan" + s + " " + one_of("[", "(") + base64_of(raw_key()) + " " + one_of("[", "(") +
               base64_of(raw_key()) + " " + std::to_string(1 + below(30)) + " base64";
        break;
      default:
        line =
            one_of("scan", "scan", "pscan") + s + " cursor=" + cursor_ + " " + std::to_string(1 + below(9));
        break;
    }
    for (const char* const word : {" reverse", " keys", " cursor", " bytes=300"}) {
      line += below(3) == 0 ? word : "";
    }
    line += !base64 && below(2) == 0 ? " base64" : "";
    return line + "\r\n";
  }
  std::string meta_range() {
    const std::string verb = one_of("mr", "mr", "mr", "mc", "mc", "mx", "mt");
    const bool binary = below(3) == 0;
    const auto key = [&] { return binary ? base64_of(raw_key()) : text_key(); };
    std::string line = verb + " " + (binary ? key() : one_of(std::string("-"), key(), key()));
    if (below(4) == 0) {
      line += " p";
    } else {
      line += below(2) == 0 || verb[1] == 'x' || verb[1] == 't' ? " H" + key() : "";
      line += below(3) == 0 ? " i" : "";
      line += below(3) == 0 ? " o" : "";
    }
    line += binary ? " b" : "";
    if (verb == "mr") {
      for (const char* const word : {" v", " f", " c", " s", " k", " r", " X", " u", " B400"}) {
        line += below(3) == 0 ? word : "";
      }
      line += below(4) == 0 ? " G" + meta_cursor_ : "";
    } else if (verb == "mc") {
      for (const char* const word : {" X", " Msnx", " r", " D1", " k"}) {
        line += below(4) == 0 ? word : "";
      }
      line += " e";
      line += below(8) == 0 ? " G" + meta_cursor_ : "";
    } else if (verb == "mx") {
      line += below(2) == 0 ? " X" : "";
      line += below(8) == 0 ? " G" + meta_cursor_ : "";
    } else {
      line += below(8) == 0 ? "" : " T" + time();
    }
    line += below(2) == 0 || verb == "mx" ? " A" + std::to_string(1 + below(8)) : "";
    line += below(4) == 0 ? " Oxyz" : "";
    line += below(5) == 0 ? " q" : "";
    return line + "\r\n";
  }

  std::string batch() {
    const unsigned lines = 1 + below(4);
    std::string all = "mb " + std::to_string(lines) + "\r\n";
    for (unsigned i = 0; i < lines; ++i) {
      const std::string verb = one_of("mg", "ms", "ms", "ma", "md");
      std::string data;
      const std::string line = below(12) == 0 ? "get " + text_key() + "\r\n" : meta_line(verb, data);
      all += line;
      all += line.starts_with("ms") ? block(data) : "";
    }
    return all;
  }

  std::string odd() {
    switch (below(12)) {
      case 0:
        return "\r\n";
      case 1:
        return "nothing of ours\r\n";
      case 2:
        return "get " + std::string(251, 'k') + "\r\n";
      case 3:
        return "version\r\n";
      case 4:
        return "verbosity 1" + noreply() + "\r\n";
      case 5:
        return kinds_.flushes ? "flush_all" + noreply() + "\r\n" : "mn\r\n";
      case 6:
        return "mg " + text_key() + " b v\r\n";
      case 7:
        return "gets\r\n";
      case 8:
        return "get " + text_key() + "\n";
      default:
        return "mn\r\n";
    }
  }

  std::mt19937 dice_;
  std::string prefix_;
  Kinds kinds_;
  std::string cursor_ = "none";
  std::string meta_cursor_ = "none";
};

}  // namespace mxkv::server::test
