// Rows that contradict each other do not compile.
#include "protocol/command_table.hpp"

#include <algorithm>

namespace mxkv::protocol {

using std::ranges::all_of;
using std::ranges::count_if;

static_assert(all_of(all_commands(),
                     [](const Command& row) {
                       return !row.word.empty() && row.word.find(' ') == std::string_view::npos;
                     }),
              "a command has one word");

static_assert(all_of(all_commands(),
                     [](const Command& row) {
                       return row.reads == nullptr ||
                              count_if(all_commands(), [&row](const Command& other) {
                                return other.reads != nullptr && other.word == row.word;
                              }) == 1;
                     }),
              "a first word is of one command");

static_assert(all_of(all_commands(),
                     [](const Command& row) {
                       return row.binary.code == opcode::none ||
                              (plain_form_of(row.binary.code) == row.binary.code &&
                               count_if(all_commands(), [&row](const Command& other) {
                                 return other.binary.code == row.binary.code;
                               }) == 1);
                     }),
              "an opcode is of one command, and the one that is not quiet and whose answer has no key");

static_assert(all_of(all_commands(),
                     [](const Command& row) {
                       return row.is_point() ==
                              (row.begins == beginning::keys || row.begins == beginning::value ||
                               row.begins == beginning::point);
                     }),
              "a command for one key, and no other, begins as keys, value or point");

static_assert(all_of(all_commands(),
                     [](const Command& row) {
                       return (row.begins == beginning::value) ==
                              (row.is_point() && row.terms.action == point_action::store);
                     }),
              "a command that stores a value, and no other, waits for one");

static_assert(all_of(all_commands(),
                     [](const Command& row) {
                       return row.belongs != family::change || row.terms.action != point_action::read ||
                              row.terms.touches;
                     }),
              "a command that answers with something else than the item has an action of its own");

static_assert(all_of(all_commands(),
                     [](const Command& row) {
                       const bool changes =
                           row.terms.touches || effect_of(row.terms.action) != value_effect::none;
                       return !row.is_point() || !changes || row.needs == least_role::writer;
                     }),
              "a command that changes an item needs the role writer");

static_assert(all_of(all_commands(),
                     [](const Command& row) {
                       return !row.is_point() || row.binary.code == opcode::none ||
                              meta_form_of(row.terms.action) != verb::meta_noop;
                     }),
              "a binary command is forwarded as the meta command of its action");

static_assert(all_of(all_commands(),
                     [](const Command& row) {
                       return is_range(row.op) ==
                              (row.belongs == family::range || row.belongs == family::meta_range);
                     }),
              "ranges, and no other commands, are timed as ranges");

static_assert(all_of(all_commands(),
                     [](const Command& row) {
                       return !is_range(row.op) ||
                              (row.needs == least_role::writer) == (row.begins == beginning::alone);
                     }),
              "a range that changes items runs alone and needs the role writer");

}  // namespace mxkv::protocol
