-- The lean path, for a peek or a take in mode 'whole' on a row of fixed size without a frame (see main.lua), as nearly every hit is.
-- lean-path.ts writes the algorithms' code into it, with params and cells as locals, because Redis would create every function and
-- table again at each call. For any other hit, the lean path writes nothing, and the full path decides.
if cost then
  local value
  -- MGET returns nothing not only for a missing key, but also for a value of another type. For the latter, GET returns the error.
  if values then value = values[j] end
  value = value or pcall('GET', key)
  local found, expires = mark, 0
  -- @insert cells
  if value then
    if #value == LENGTH then
      -- @insert read
    else
      found = nil
    end
  end
  local is_lean = found == mark
  -- @insert convert
  if is_lean then
    local wait, changed = 0, not is_peek
    -- @insert wait
    if wait == 0 then
      outcome = '1'
      if changed then
        -- @insert charge
      end
    else
      outcome, changed = '0', false
      -- @insert strike
    end
    if not changed then
      if value then
        report = value
        if wait == 0 then outcome = '4' else outcome = '3' end
      else
        report = FRESH
      end
    else
      local longest = 0
      -- @insert clear
      longest = longest + keep
      if longest > 3155760000000 then longest = 3155760000000 end
      local is_fresh = longest == 0
      -- @insert is fresh
      local result
      if is_fresh then
        -- @insert pack cells
        call('DEL', key)
      elseif clock + longest <= expires then
        -- @insert pack cells
        result = pcall('SETRANGE', key, '11', report)
      else
        -- A row that is used again is kept for 1.5 times as long as necessary, so that most writes leave the expiry unchanged.
        if expires > 0 then longest = longest * 1.5 end
        expires = ceil(clock + longest)
        -- @insert pack row
        if wait == 0 then outcome = '4' else outcome = '3' end
        result = pcall('SET', key, report, 'PXAT', expires)
      end
      if result ~= LENGTH and type(result) == 'table' and result.err then outcome, failure = nil, result.err end
    end
  end
end
