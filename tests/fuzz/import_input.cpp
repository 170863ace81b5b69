// Files for an import: read or refused, with a place. Items that are read are read again from the file that
// is written for them.
#include <vector>

#include "protocol/clients/cli/failure.hpp"
#include "protocol/clients/cli/transfer/dump.hpp"
#include "tests/fuzz/inputs.hpp"

namespace mxkv::fuzz {

using namespace cli;

namespace {

struct ReadDump {
  std::vector<Item> items;
  std::string failure;
};

ReadDump read_all(std::string_view bytes) {
  ReadDump read;
  InputFile file("input", std::string(bytes));
  const auto reader = open_dump(file);
  Item item;
  try {
    while (reader->next(item)) {
      read.items.push_back(item);
    }
  } catch (const Failure& failure) {
    read.failure = failure.what();
  }
  return read;
}

std::string write_all(DumpForm form, const std::vector<Item>& items) {
  OutputFile file{OutputFile::Memory{}};
  DumpTotals totals = {.items = items.size()};
  const auto writer = begin_dump(form, file, "all", true);
  for (const Item& each : items) {
    totals.bytes += each.key.size() + each.value.size();
    writer->add(each);
  }
  writer->finish(totals);
  return file.bytes();
}

bool equal(const Item& one, const Item& other) {
  return one.key == other.key && one.value == other.value && one.flags == other.flags &&
         one.expires == other.expires && one.unique == other.unique;
}

}  // namespace

std::string check_import_input(std::string_view input) {
  const ReadDump read = read_all(input);
  if (!read.failure.empty() && !read.failure.starts_with("input:")) {
    return "a failure without its place: " + read.failure;
  }
  InputFile file("input", std::string(input));
  const DumpSurvey survey = survey_dump(file);
  if (survey.finished != read.failure.empty() || survey.whole_bytes > input.size() ||
      survey.totals.items > read.items.size()) {
    return "a survey that says something else";
  }
  for (const DumpForm form : {DumpForm::json_lines, DumpForm::blocks}) {
    const ReadDump again = read_all(write_all(form, read.items));
    if (!again.failure.empty() || again.items.size() != read.items.size()) {
      return "what was read cannot be read again: " + again.failure;
    }
    for (std::size_t at = 0; at < read.items.size(); ++at) {
      if (!equal(read.items[at], again.items[at])) {
        return "an item is another one when it was written and read again: " + read.items[at].key;
      }
    }
  }
  return {};
}

}  // namespace mxkv::fuzz
