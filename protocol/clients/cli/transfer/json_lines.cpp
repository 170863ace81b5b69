#include "protocol/clients/cli/transfer/json_lines.hpp"

#include <nlohmann/json.hpp>

#include "protocol/clients/cli/failure.hpp"
#include "protocol/clients/cli/transfer/checksum.hpp"
#include "protocol/clients/cli/wire/request_text.hpp"
#include "protocol/reply.hpp"
#include "runtime/base/readable.hpp"

namespace mxkv::cli {
namespace {

using Document = nlohmann::ordered_json;

void append_string(std::string& out, std::string_view bytes) {
  if (runtime::is_utf8(bytes)) {
    out += Document(std::string(bytes)).dump();
  } else {
    out += R"({"b64":")";
    out += to_base64(bytes);
    out += "\"}";
  }
}

class LinesWriter final : public DumpWriter {
 public:
  explicit LinesWriter(OutputFile& file) : file_(file) {}

  void begin(const std::string& range_text) {
    line_ = R"({"mxkv":"export","version":1,"range":)";
    append_string(line_, range_text);
    put("}\n");
  }
  void take(std::string_view bytes) { checksum_.add(bytes); }

  void add(const Item& item) override {
    line_ = R"({"key":)";
    append_string(line_, item.key);
    line_ += R"(,"value":)";
    append_string(line_, item.value);
    number("flags", item.flags);
    number("expires", item.expires);
    number("cas", item.unique);
    put("}\n");
  }
  void flush() override { file_.flush(); }
  void finish(const DumpTotals& totals) override {
    line_ = R"({"end":true,"items":)" + std::to_string(totals.items) + R"(,"xxh3":")" +
            hex_text(checksum_.value());
    put("\"}\n");
    file_.flush();
  }

 private:
  void number(const char* name, std::uint64_t value) {
    if (value != 0) {
      line_ += std::string(",\"") + name + "\":" + std::to_string(value);
    }
  }
  void put(std::string_view end) {
    line_ += end;
    checksum_.add(line_);
    file_.write(line_);
  }

  OutputFile& file_;
  Checksum checksum_;
  std::string line_;
};

class LinesReader final : public DumpReader {
 public:
  explicit LinesReader(InputFile& file) : file_(file) {}

  bool next(Item& item) override {
    for (;;) {
      if (ended_) {
        return check_end();
      }
      const std::string_view line = file_.peek_line();
      if (line.empty()) {
        if (headed_) {
          wrong("the file ends before its last line: it was truncated");
        }
        return false;
      }
      ++number_;
      if (!line.ends_with('\n') && headed_) {
        wrong("the line is truncated");
      }
      const bool found = take(line, item);
      checksum_.add(line);
      file_.skip(line.size());
      if (found) {
        ++items_;
        whole_ = file_.offset();
        return true;
      }
      if (!ended_) {
        whole_ = file_.offset();
      }
    }
  }
  [[nodiscard]] std::string place() const override { return file_.name() + ":" + std::to_string(number_); }
  [[nodiscard]] std::uint64_t whole_bytes() const override { return whole_; }
  [[nodiscard]] const std::string& range_text() const override { return range_text_; }

 private:
  [[noreturn]] void wrong(const std::string& what) const {
    throw Failure(Outcome::file, place() + ": " + what);
  }

  /// Returns true for an item, false for the first line, the last line or an empty one.
  bool take(std::string_view line, Item& item) {
    if (line.find_first_not_of(" \t\r\n") == std::string_view::npos) {
      if (headed_) {
        wrong("an empty line");
      }
      return false;
    }
    const Document document = Document::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!document.is_object()) {
      wrong("is not a JSON object");
    }
    if (number_ == 1 && document.contains("mxkv")) {
      take_header(document);
      return false;
    }
    if (headed_ && document.contains("end")) {
      take_trailer(document, line);
      return false;
    }
    item = {};
    bool has_key = false;
    bool has_value = false;
    for (const auto& [name, value] : document.items()) {
      if (name == "key") {
        item.key = bytes_of(name, value);
        has_key = true;
      } else if (name == "value") {
        item.value = bytes_of(name, value);
        has_value = true;
      } else if (name == "flags") {
        const std::uint64_t flags = number_of(name, value);
        if (flags > UINT32_MAX) {
          wrong("flags have 32 bits");
        }
        item.flags = static_cast<std::uint32_t>(flags);
      } else if (name == "expires") {
        item.expires = number_of(name, value);
      } else if (name == "cas") {
        item.unique = number_of(name, value);
      } else if (headed_) {
        wrong("\"" + name + "\" is not a known field");
      }
    }
    if (!has_key || !has_value) {
      wrong("has no key and value");
    }
    if (item.key.empty() || item.key.size() > protocol::kMaxKeyBytes) {
      wrong("a key must have 1 to 250 bytes");
    }
    return true;
  }

  void take_header(const Document& document) {
    const auto at = [&](const char* name) { return document.contains(name) ? document[name] : Document(); };
    if (at("mxkv") != "export" || at("version") != 1 || !document.contains("range")) {
      wrong("is not an export of version 1");
    }
    range_text_ = bytes_of("range", at("range"));
    headed_ = true;
  }

  void take_trailer(const Document& document, std::string_view line) {
    // The line must equal the one that an export would write, so that every byte of it is checked.
    const std::string expected = R"({"end":true,"items":)" + std::to_string(items_) + R"(,"xxh3":")" +
                                 hex_text(checksum_.value()) + "\"}\n";
    if (line != expected) {
      if (document.value("items", Document()) != items_) {
        wrong("the file has " + std::to_string(items_) + " items, but this line says another number");
      }
      wrong("the checksum differs: a line before this one was changed");
    }
    ended_ = true;
  }

  bool check_end() {
    if (!file_.peek(1).empty()) {
      ++number_;
      wrong("there are lines after the last line of the export");
    }
    return false;
  }

  std::string bytes_of(const std::string& name, const Document& value) const {
    if (value.is_string()) {
      return value.get<std::string>();
    }
    if (value.is_object() && value.size() == 1 && value.contains("b64") && value["b64"].is_string()) {
      const auto coded = value["b64"].get<std::string>();
      std::string bytes(coded.size(), '\0');
      std::size_t count = 0;
      if (protocol::read_base64(coded, bytes.data(), count)) {
        bytes.resize(count);
        return bytes;
      }
    }
    wrong("\"" + name + R"(" is neither a string nor {"b64": ".."})");
  }

  std::uint64_t number_of(const std::string& name, const Document& value) const {
    if (!value.is_number_unsigned()) {
      wrong("\"" + name + "\" is not a number");
    }
    return value.get<std::uint64_t>();
  }

  InputFile& file_;
  Checksum checksum_;
  std::uint64_t number_ = 0;
  std::uint64_t items_ = 0;
  std::uint64_t whole_ = 0;
  std::string range_text_;
  bool headed_ = false;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<DumpWriter> begin_json_lines(OutputFile& file, const std::string& range_text) {
  auto writer = std::make_unique<LinesWriter>(file);
  writer->begin(range_text);
  return writer;
}

std::unique_ptr<DumpWriter> resume_json_lines(OutputFile& file, InputFile& before) {
  auto writer = std::make_unique<LinesWriter>(file);
  constexpr std::size_t kPiece = std::size_t{1024} * 1024;
  for (std::string_view piece = before.peek(kPiece); !piece.empty(); piece = before.peek(kPiece)) {
    writer->take(piece);
    before.skip(piece.size());
  }
  return writer;
}

std::unique_ptr<DumpReader> open_json_lines(InputFile& file) {
  return std::make_unique<LinesReader>(file);
}

}  // namespace mxkv::cli
