#include "reports/html/page_script.hpp"

namespace acid {

PageScript page_script() { return {}; }

}  // namespace acid
