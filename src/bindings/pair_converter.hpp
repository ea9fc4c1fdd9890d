// Pairs from Python, as converters.hpp has the rest; apart from it, since some classes that are bound are pairs.
#pragma once

#include "converters.hpp"

#define noexcept
#include <nanobind/stl/pair.h>
#undef noexcept
