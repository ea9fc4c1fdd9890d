// Workspaces that later calls reuse: after its longest sentence a workspace allocates no more.
#pragma once

#include <exception>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace chaffinch::machine {

// One T, for one user at a time. It is not thread_local: registering a thread's destructor needs memory, and if there
// is none the C library ends the process.
template <class T> class Workspace {
  public:
    Workspace() : held_(taken()) {}
    Workspace(Workspace&&) = default;
    Workspace& operator=(Workspace&&) = delete;
    ~Workspace() { // a workspace that a failure left half done is not reused
        if (!held_ || std::uncaught_exceptions() > before_) return;
        const std::scoped_lock locked(pool().lock);
        if (pool().free.size() < pool().free.capacity()) pool().free.push_back(std::move(held_));
    }
    T& operator*() { return *held_; }
    T* operator->() { return held_.get(); }

  private:
    struct Pool {
        std::mutex lock;
        std::size_t made = 0;
        std::vector<std::unique_ptr<T>> free;
    };

    // Never freed: threads may still run when the process ends.
    static Pool& pool() {
        static Pool& one = *new Pool;
        return one;
    }

    static std::unique_ptr<T> taken() {
        Pool& from = pool();
        {
            const std::scoped_lock locked(from.lock);
            if (!from.free.empty()) {
                std::unique_ptr<T> found = std::move(from.free.back());
                from.free.pop_back();
                return found;
            }
            from.free.reserve(++from.made); // so that returning a workspace needs no memory
        }
        return std::make_unique<T>();
    }

    int before_ = std::uncaught_exceptions();
    std::unique_ptr<T> held_;
};

} // namespace chaffinch::machine
