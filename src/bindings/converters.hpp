// Lists, tuples and strings from Python. nanobind promises that its converters do not throw, but they allocate: without
// memory the process would end. Here converters may throw, and the exception reaches Python as MemoryError.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#define noexcept
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#undef noexcept
