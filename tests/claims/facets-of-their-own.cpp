// Each thread converts text with a separate facet; the library initialises a table once.
#include <codecvt>
#include <cstdlib>
#include <locale>
#include <string>
#include <thread>
static void convert() {
    std::wstring_convert<std::codecvt_utf8<wchar_t>> converter;
    if (converter.to_bytes(L"a") != "a") std::abort();
}
int main() {
    std::thread other(convert);
    convert();
    other.join();
    return 0;
}
