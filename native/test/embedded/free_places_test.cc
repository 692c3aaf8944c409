#include "embedded/free_places.h"

#include <random>
#include <set>

#include "test/check.h"

namespace {

using rxib::embedded::FreePlaces;

TEST("free places: the lowest first, and again when it is given back") {
  FreePlaces places;
  places.reset(130);
  CHECK_EQ(places.size(), size_t{130});
  for (uint32_t i = 0; i < 130; ++i) CHECK_EQ(places.takeLowest().value(), i);
  CHECK(!places.takeLowest().has_value());
  CHECK_EQ(places.size(), size_t{0});
  places.giveBack(129);
  places.giveBack(64);
  CHECK_EQ(places.takeLowest().value(), 64u);
  CHECK_EQ(places.takeLowest().value(), 129u);
  CHECK(!places.takeLowest().has_value());
}

TEST("free places: one by its number, unless it is taken or not there") {
  FreePlaces places;
  places.reset(70);
  CHECK(places.take(69));
  CHECK(!places.take(69));
  CHECK(!places.take(70));
  CHECK(!places.take(500));
  CHECK_EQ(places.size(), size_t{69});
  places.reset(0);
  CHECK(!places.take(0));
  CHECK(!places.takeLowest().has_value());
}

TEST("free places: as a set would have it") {
  std::mt19937 random(7);
  FreePlaces places;
  places.reset(200);
  std::set<uint32_t> model;
  for (uint32_t i = 0; i < 200; ++i) model.insert(i);
  for (int step = 0; step < 5000; ++step) {
    const uint32_t place = random() % 200;
    if (random() % 3 == 0) {
      const auto lowest = places.takeLowest();
      CHECK_EQ(lowest.has_value(), !model.empty());
      if (lowest) CHECK_EQ(*lowest, *model.begin());
      if (lowest) model.erase(model.begin());
    } else if (random() % 2 == 0) {
      CHECK_EQ(places.take(place), model.erase(place) == 1);
    } else if (model.insert(place).second) {
      places.giveBack(place);
    }
    CHECK_EQ(places.size(), model.size());
  }
}

}  // namespace
