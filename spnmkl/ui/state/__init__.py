"""What a tab works on: its drawing, its data, what it trains, and what came of it. No Streamlit here."""
