// The visitor that writes: options as flat text, for the log at start and for comparing them.
#include "config/load.hpp"
#include "config/schema.hpp"

namespace mxkv::config {
namespace {

class Writer final : public SchemaVisitor {
 public:
  explicit Writer(std::string& text) : text_(text) {}

  void section(std::string_view name, const std::function<void(SchemaVisitor&)>& body) override {
    const std::string outer = prefix_;
    prefix_.append(name).append(".");
    body(*this);
    prefix_ = outer;
  }
  void scalar(std::string_view name, const ScalarField& field) override { line(name, field.get()); }
  void list(std::string_view name, const ListField& field) override { line(name, field.get()); }

 private:
  void line(std::string_view name, const std::string& value) {
    text_.append(prefix_).append(name).append(" = ").append(value).append("\n");
  }

  std::string& text_;
  std::string prefix_;
};

}  // namespace

std::string describe(const DaemonOptions& options) {
  std::string text;
  Writer writer{text};
  DaemonOptions copy = options;  // the schema speaks of options that may be set
  visit_schema(writer, copy);
  return text;
}

}  // namespace mxkv::config
